#include "hdf5_handle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "find_files.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

// Upwards: the last entry visited is where the library noticed the fault.
herr_t keep_description(unsigned /*depth*/, const H5E_error2_t* entry, void* text) {
  if (entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

// `read` fills the memory it is given with the elements of an array of type `memory_type`.
using ReadStrings = std::function<herr_t(hid_t memory_type, void* out)>;

std::vector<std::string> read_variable(const Hdf5Id& type, const Hdf5Id& space, std::size_t count,
                                       const ReadStrings& read, const std::string& where) {
  std::vector<char*> pointers(count, nullptr);
  if (read(type.get(), pointers.data()) < 0) hdf5_failure(where, "be read");
  std::vector<std::string> texts;
  for (const char* text : pointers)
    texts.emplace_back(text != nullptr ? text : "");
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
  return texts;
}

std::vector<std::string> read_fixed(const Hdf5Id& type, std::size_t count, const ReadStrings& read,
                                    const std::string& where) {
  const std::size_t length = H5Tget_size(type.get());
  std::string all(count * length, '\0');
  if (read(type.get(), all.data()) < 0) hdf5_failure(where, "be read");
  const bool padded = H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = all.substr(i * length, length);
    text.resize(std::min(text.find('\0'), text.size()));
    if (padded) text.resize(text.find_last_not_of(' ') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> read_strings(const Hdf5Id& type, const Hdf5Id& space, const ReadStrings& read,
                                      const std::string& where) {
  if (H5Tget_class(type.get()) != H5T_STRING) {
    throw DataError(fmt::format("{}: not an array of strings", where));
  }
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (H5Sget_simple_extent_ndims(space.get()) != 1 || points <= 0) {
    throw DataError(fmt::format("{}: expected one dimension with at least one string", where));
  }
  const auto count = static_cast<std::size_t>(points);
  if (H5Tis_variable_str(type.get()) > 0) return read_variable(type, space, count, read, where);
  return read_fixed(type, count, read, where);
}

}  // namespace

void hdf5_failure(const std::string& where, const std::string& what) {
  std::string reason = "unknown reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw DataError(fmt::format("{}: cannot {}: HDF5 says: {}", where, what, reason));
}

Hdf5Id open_hdf5_file(const std::filesystem::path& path) {
  require_path(path, "an HDF5 file");
  if (is_folder(path)) {
    throw DataError(fmt::format("{}: a folder: expected an HDF5 file", path.string()));
  }
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    throw DataError(fmt::format("{}: not an HDF5 file, or not readable", path.string()));
  }
  Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!file.valid()) hdf5_failure(path.string(), "open the file (damaged or truncated?)");
  return file;
}

Hdf5DataSet open_hdf5_data_set(const Hdf5Id& file, const std::filesystem::path& path,
                               const std::string& name) {
  Hdf5DataSet set{Hdf5Id(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT)), path.string() + ":" + name, {}};
  if (!set.id.valid()) {
    H5Eclear2(H5E_DEFAULT);
    throw DataError(
        fmt::format("{}: no such data set", set.where),
        "Expected are /train/images and /train/labels, and for a test set /test/images and /test/labels.");
  }
  const Hdf5Id space(H5Dget_space(set.id.get()));
  if (!space.valid()) hdf5_failure(set.where, "read the shape");
  const int rank = H5Sget_simple_extent_ndims(space.get());
  set.dims.resize(static_cast<std::size_t>(std::max(rank, 0)));
  H5Sget_simple_extent_dims(space.get(), set.dims.data(), nullptr);
  return set;
}

std::optional<std::vector<std::string>> read_hdf5_strings(const Hdf5Id& file,
                                                          const std::filesystem::path& path,
                                                          const std::string& name) {
  const std::string where = path.string() + ":/" + name;
  if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) > 0) {
    const Hdf5DataSet set = open_hdf5_data_set(file, path, "/" + name);
    return read_strings(
        Hdf5Id(H5Dget_type(set.id.get())), Hdf5Id(H5Dget_space(set.id.get())),
        [&](hid_t type, void* out) {
          return H5Dread(set.id.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
        },
        where);
  }
  if (H5Aexists(file.get(), name.c_str()) <= 0) return std::nullopt;
  const Hdf5Id attribute(H5Aopen(file.get(), name.c_str(), H5P_DEFAULT));
  if (!attribute.valid()) hdf5_failure(where, "open the attribute");
  return read_strings(
      Hdf5Id(H5Aget_type(attribute.get())), Hdf5Id(H5Aget_space(attribute.get())),
      [&](hid_t type, void* out) { return H5Aread(attribute.get(), type, out); }, where + " (attribute)");
}

}  // namespace kolo::data
