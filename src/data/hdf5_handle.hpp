// Owners of HDF5 identifiers and the checked calls that reading a data set needs.
//
// Everything here expects io::hdf5_mutex() to be locked.  Errors are DataErrors that quote the library's own
// reason; its habit of printing an error stack on standard error is off while a QuietHdf5 lives.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kolo::data {

class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// One identifier of any kind; H5Idec_ref closes each.
class Hdf5Id {
 public:
  explicit Hdf5Id(hid_t id) : id_(id) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
};

/// An open data set and the words that name it in messages.
struct Hdf5DataSet {
  Hdf5Id id;
  std::string where;  ///< "file.h5:/train/images"
  std::vector<hsize_t> dims;
};

/// Throws DataError when the file is missing, a folder, not HDF5 or damaged.
Hdf5Id open_hdf5_file(const std::filesystem::path& path);
/// Throws DataError when nothing of that name can be opened as a data set, or it has no simple shape.
Hdf5DataSet open_hdf5_data_set(const Hdf5Id& file, const std::filesystem::path& path,
                               const std::string& name);
/// Throws DataError with the library's reason; `what` is the failed action.
[[noreturn]] void hdf5_failure(const std::string& where, const std::string& what);

/// The array of strings `name` in the root group, a data set or an attribute; nothing when there is neither.
std::optional<std::vector<std::string>> read_hdf5_strings(const Hdf5Id& file,
                                                          const std::filesystem::path& path,
                                                          const std::string& name);

}  // namespace kolo::data
