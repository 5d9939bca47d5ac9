# Makes Libtorch::Libtorch from a libtorch tree (a PyPI wheel of torch or an unpacked libtorch archive).
#
# TorchConfig.cmake is not used: in a CUDA wheel it insists on a CUDA toolkit even for a CPU-only program.
# Input: KOLO_LIBTORCH_ROOT, the folder that holds include/ and lib/.

include(FindPackageHandleStandardArgs)

find_path(Libtorch_INCLUDE_DIR NAMES ATen/core/Tensor.h HINTS "${KOLO_LIBTORCH_ROOT}/include" NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY NAMES torch_cpu HINTS "${KOLO_LIBTORCH_ROOT}/lib" NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY NAMES c10 HINTS "${KOLO_LIBTORCH_ROOT}/lib" NO_DEFAULT_PATH)

foreach(_header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(Libtorch_INCLUDE_DIR AND EXISTS "${Libtorch_INCLUDE_DIR}/${_header}" AND NOT Libtorch_VERSION)
    file(READ "${Libtorch_INCLUDE_DIR}/${_header}" _text)
    foreach(_part IN ITEMS MAJOR MINOR PATCH)
      string(REGEX MATCH "#define TORCH_VERSION_${_part} ([0-9]+)" _ "${_text}")
      list(APPEND _version ${CMAKE_MATCH_1})
    endforeach()
    list(JOIN _version "." Libtorch_VERSION)
  endif()
endforeach()

find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "run jobs/setup.sh, or set KOLO_LIBTORCH_ROOT to a libtorch (looked in ${KOLO_LIBTORCH_ROOT})")

if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  add_library(Libtorch::Libtorch INTERFACE IMPORTED)
  # SYSTEM: the warnings of its headers are not ours.
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE
    "${Libtorch_INCLUDE_DIR}" "${Libtorch_INCLUDE_DIR}/torch/csrc/api/include")
  target_link_libraries(Libtorch::Libtorch INTERFACE "${Libtorch_CPU_LIBRARY}" "${Libtorch_C10_LIBRARY}")
  # libtorch_cpu of the PyPI wheel needs two small CUDA libraries that pip puts beside it.
  file(GLOB _nvidia "${Libtorch_INCLUDE_DIR}/../../nvidia/*/lib" "${Libtorch_INCLUDE_DIR}/../../nvidia/*/*/lib")
  foreach(_dir IN LISTS _nvidia)
    target_link_options(Libtorch::Libtorch INTERFACE "-Wl,-rpath-link,${_dir}")
  endforeach()
endif()
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY)
