# How kolo's targets are made: one static library per module, warnings as errors for our own code, reproducible bits.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Optimised, with line tables for backtraces and profilers; asserts stay out of release builds because checks never use them.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

find_program(KOLO_CCACHE ccache)
if(KOLO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KOLO_CCACHE})
endif()

function(kolo_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                                           -ffp-contract=off
                         -fno-math-errno)  # else g++ does not vectorise sqrt: Adam's update is 8 times slower
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)  # false alarms in std::string (GCC bug 105651)
  endif()
  if(KOLO_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # Open MPI's C++ bindings are gone from MPI-3; fmt header-only because libtorch ships headers of another version.
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX FMT_HEADER_ONLY)
  if(KOLO_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${KOLO_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${KOLO_SANITIZE})
  endif()
endfunction()

# kolo_module(<name> [TORCH] [WHOLE] LINK <targets>...): library kolo_<name> of src/<name>/*.cpp.
# TORCH: may include libtorch.  WHOLE: every object file is linked, so that files may register themselves.
function(kolo_module name)
  cmake_parse_arguments(ARG "TORCH;WHOLE" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  set(target kolo_${name})
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${CMAKE_SOURCE_DIR}/include")
    target_link_libraries(${target} INTERFACE ${ARG_LINK})
    return()
  endif()
  if(ARG_WHOLE)
    add_library(${target}_objects STATIC ${sources})
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${target}_objects>")
    set(library ${target}_objects)
  else()
    add_library(${target} STATIC ${sources})
    set(library ${target})
  endif()
  target_include_directories(${library} PUBLIC "${CMAKE_SOURCE_DIR}/include")
  target_link_libraries(${library} PUBLIC ${ARG_LINK})
  if(ARG_TORCH)
    target_link_libraries(${library} PUBLIC Libtorch::Libtorch)
  endif()
  kolo_compile_options(${library})
endfunction()

# Adds version.cpp to `target`, made anew at every build (and compiled only when it changed).
function(kolo_version target)
  set(output "${CMAKE_BINARY_DIR}/version.cpp")
  set(build "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
  add_custom_target(kolo_version_file BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION}
            "-DBUILD=${build}" -P ${CMAKE_SOURCE_DIR}/cmake/KoloVersion.cmake)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} kolo_version_file)
endfunction()

function(kolo_install target)
  include(GNUInstallDirs)
  # The installed executable finds libtorch where it was found at build time; a packager sets CMAKE_INSTALL_RPATH instead.
  # (INSTALL_RPATH_USE_LINK_PATH would leave it out: .deps lies inside the source tree.)
  if(NOT CMAKE_INSTALL_RPATH)
    get_filename_component(libtorch_dir "${Libtorch_CPU_LIBRARY}" DIRECTORY)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${libtorch_dir}")
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY input/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kolo/input)
  install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
