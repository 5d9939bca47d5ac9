#include "kolo/io/hdf5_handle.hpp"

#include <fmt/format.h>

#include <vector>

#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"

namespace kolo::io {
namespace {

extern "C" herr_t collect_description(unsigned, const H5E_error2_t* entry, void* data) {
  // An exception must not cross HDF5's C frames.
  try {
    if (entry->desc != nullptr) static_cast<std::vector<std::string>*>(data)->emplace_back(entry->desc);
    return 0;
  } catch (...) {
    return -1;
  }
}

/// The outermost and the innermost line of HDF5's error stack, which is cleared.
std::string take_error_stack() {
  std::vector<std::string> lines;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect_description, &lines);
  H5Eclear2(H5E_DEFAULT);
  if (lines.empty()) return "HDF5 gave no reason";
  if (lines.front() == lines.back()) return "HDF5: " + lines.front();
  return fmt::format("HDF5: {}: {}", lines.front(), lines.back());
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(hdf5_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void throw_hdf5_error(std::string_view what) {
  throw CheckpointError(fmt::format("{}: {}", what, take_error_stack()));
}

void check_hdf5(herr_t status, std::string_view what) {
  if (status < 0) throw_hdf5_error(what);
}

void detail::warn_close_failed() noexcept {
  try {
    util::log_warning("an HDF5 object could not be closed: " + take_error_stack());
  } catch (...) {
    // A destructor has nowhere to report that the report failed.
    return;
  }
}

}  // namespace kolo::io
