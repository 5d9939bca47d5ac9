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
