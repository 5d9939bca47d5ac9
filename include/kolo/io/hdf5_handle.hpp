// Owners of HDF5 identifiers, and errors that say what HDF5 said.
//
// Every identifier HDF5 returns is put into a handle in the same expression, with words for what was being
// done: a negative one becomes a CheckpointError that ends in HDF5's own error stack, which is never printed.
// Invariant: a handle that exists is valid or empty, and its object is closed exactly once.  close() may
// throw because closing is where HDF5 flushes; destructors only warn.  All of this runs under an Hdf5Lock;
// handles die before it.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "kolo/io/hdf5_mutex.hpp"

namespace kolo::io {

/// Holds hdf5_mutex() and keeps HDF5 from printing its errors.
class Hdf5Lock {
 public:
  Hdf5Lock();

 private:
  std::scoped_lock<std::mutex> lock_;
};

/// Throws CheckpointError "<what>: <HDF5's error stack>" and clears the stack.
[[noreturn]] void throw_hdf5_error(std::string_view what);
/// Throws likewise if a call returned a negative status.
void check_hdf5(herr_t status, std::string_view what);

namespace detail {
void warn_close_failed() noexcept;
}

template <herr_t (*kClose)(hid_t)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  /// Takes over `id`; throws CheckpointError if it is negative.
  Hdf5Handle(hid_t id, std::string_view what) : id_(id) {
    if (id < 0) throw_hdf5_error(what);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Throws CheckpointError if HDF5 could not close the object; the handle is empty either way.
  void close() {
    if (id_ >= 0) check_hdf5(kClose(std::exchange(id_, H5I_INVALID_HID)), "HDF5 cannot close an object");
  }

 private:
  void reset() noexcept {
    if (id_ >= 0 && kClose(std::exchange(id_, H5I_INVALID_HID)) < 0) detail::warn_close_failed();
  }

  hid_t id_ = H5I_INVALID_HID;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Group = Hdf5Handle<H5Gclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;

}  // namespace kolo::io
