# Registers gtest programs with CTest, with or without MPI ranks.

add_library(kolo_test_support STATIC ${CMAKE_SOURCE_DIR}/tests/support/temp_dir.cpp)
target_include_directories(kolo_test_support PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(kolo_test_support PUBLIC kolo_util GTest::gtest GTest::gmock)
kolo_compile_options(kolo_test_support)

# Test code is compiled without optimisation: it takes a third of the time, and what is tested lies in the libraries.
function(kolo_test_options target)
  target_compile_definitions(${target} PRIVATE KOLO_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  kolo_compile_options(${target})
  target_compile_options(${target} PRIVATE -O0 -g0)
endfunction()

# kolo_unit_test(<name> LINK <targets>...): every source of tests/unit/<name>, one program, one CTest test.
function(kolo_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/unit/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  set(target test_unit_${name})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${ARG_LINK} kolo_test_support GTest::gtest_main)
  kolo_test_options(${target})
  add_test(NAME unit.${name} COMMAND ${target})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "OMP_NUM_THREADS=1")
endfunction()

# kolo_mpi_test(<name> RANKS <n>... LINK <targets>...): tests/mpi/<name>, started by mpirun once per rank count.
# Ranks are not bound (two concurrent mpirun would share core 0) and may outnumber the cores.
function(kolo_mpi_test name)
  cmake_parse_arguments(ARG "" "" "RANKS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/mpi/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  set(target test_mpi_${name})
  add_executable(${target} ${sources} ${CMAKE_SOURCE_DIR}/tests/support/mpi_main.cpp)
  target_link_libraries(${target} PRIVATE ${ARG_LINK} kolo_comm kolo_test_support)
  kolo_test_options(${target})
  foreach(ranks IN LISTS ARG_RANKS)
    add_test(NAME mpi.${name}.${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
             --oversubscribe --bind-to none $<TARGET_FILE:${target}>)
    # OMPI_MCA_mpi_yield_when_idle: waiting ranks leave the core to computing ones when ranks outnumber cores.
    set_tests_properties(mpi.${name}.${ranks} PROPERTIES LABELS mpi PROCESSORS ${ranks} TIMEOUT 600 ENVIRONMENT
      "OMP_NUM_THREADS=1;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1")
  endforeach()
endfunction()

# kolo_fuzz_program(<name> LINK <targets>...): fuzz_<name> of tests/fuzz/<name>_target.cpp with our driver, or libFuzzer's.
# libFuzzer steers by coverage only where the modules are instrumented:
# CXX=clang++ cmake ... -DKOLO_LIBFUZZER=ON -DKOLO_SANITIZE=address,undefined,fuzzer-no-link -DKOLO_WERROR=OFF
option(KOLO_LIBFUZZER "Link fuzz targets with clang's libFuzzer, and do not run them as tests" OFF)
set(KOLO_FUZZ_INPUTS "" CACHE STRING "Mutated inputs for each fuzz test; empty: as many as take 10 to 15 s")
function(kolo_fuzz_program name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  set(target fuzz_${name})
  add_executable(${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_target.cpp)
  target_link_libraries(${target} PRIVATE ${ARG_LINK} kolo_test_support)
  kolo_test_options(${target})
  if(KOLO_LIBFUZZER)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  if(NOT TARGET kolo_fuzz_driver)
    add_library(kolo_fuzz_driver STATIC ${CMAKE_SOURCE_DIR}/tests/fuzz/driver.cpp ${CMAKE_SOURCE_DIR}/tests/fuzz/mutator.cpp)
    target_link_libraries(kolo_fuzz_driver PUBLIC kolo_test_support)
    kolo_test_options(kolo_fuzz_driver)
  endif()
  target_link_libraries(${target} PRIVATE kolo_fuzz_driver)
endfunction()

# kolo_fuzz_test(<name> INPUTS <n> LINK <targets>... [CORPUS <folder>...]): fuzz_<name> on the files of tests/data/fuzz/<name>
# and of CORPUS, then on n mutated inputs, the same in every run.
function(kolo_fuzz_test name)
  cmake_parse_arguments(ARG "" "INPUTS" "LINK;CORPUS" ${ARGN})
  kolo_fuzz_program(${name} LINK ${ARG_LINK})
  if(KOLO_LIBFUZZER)
    return()
  endif()
  if(KOLO_FUZZ_INPUTS)
    set(ARG_INPUTS ${KOLO_FUZZ_INPUTS})
  endif()
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} --inputs ${ARG_INPUTS} --seed 1
           ${CMAKE_SOURCE_DIR}/tests/data/fuzz/${name} ${ARG_CORPUS})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()
