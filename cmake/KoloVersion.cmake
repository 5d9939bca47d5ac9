# Writes version.cpp with the state of the checkout at build time; a checkout without .git (an archive) says "unknown".
# Run as a script: cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -DBUILD=... -P KoloVersion.cmake
set(state "unknown")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(state "${described}")
  endif()
endif()
set(text "#include \"kolo/app/version.hpp\"
namespace kolo::app {
const char* version() { return \"${VERSION}\"; }
const char* git_state() { return \"${state}\"; }
const char* build_switches() { return \"${BUILD}\"; }
}  // namespace kolo::app
")
# Unchanged text keeps its time stamp, so that nothing is compiled again.
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE "${OUTPUT}" "${text}")
endif()
