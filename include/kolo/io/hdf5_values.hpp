// Strings, scalars, arrays and attributes in HDF5, one call each.
//
// The representation is the plainest HDF5 has, so that h5dump, h5py and MATLAB read it without knowing kolo:
// native types, contiguous layout, no filters, text as fixed-length UTF-8 (no global heap).  Every function
// expects the caller to hold an Hdf5Lock and throws CheckpointError with the name of the data set or
// attribute.  `parent` is a file or group; a name is one link: not empty, not ".", without '/' and NUL (dots
// are fine).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/io/hdf5_handle.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::io {

/// Elements in logical row-major order; rank 0 is one element.
struct Hdf5Array {
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

enum class Hdf5Kind { array, text, other };

/// Throws CheckpointError if `name` cannot be one link.
void check_link_name(std::string_view name);
/// Bytes of `shape` elements of `type`.  Throws CheckpointError for a negative extent or an overflow.
std::size_t bytes_of(DType type, std::span<const std::int64_t> shape);

Hdf5Group create_group(hid_t parent, const std::string& name);
Hdf5Group open_group(hid_t parent, const std::string& name);
/// Names of the links of `group` in alphabetical order.
std::vector<std::string> link_names(hid_t group);
/// `path` may have several components.  Throws CheckpointError if there is no such data set.
Hdf5Dataset open_dataset(hid_t parent, const std::string& path);
Hdf5Kind kind_of(const Hdf5Dataset& dataset);

/// `data.size()` must be bytes_of(type, shape).
void write_array(hid_t parent, const std::string& name, DType type, std::span<const std::int64_t> shape,
                 std::span<const std::byte> data);
/// Throws CheckpointError if the elements are none of the types of DType; `what` names the data set in
/// errors.
Hdf5Array read_array(const Hdf5Dataset& dataset, std::string_view what);

/// Text must not contain NUL.
void write_text(hid_t parent, const std::string& name, std::string_view text);
void write_texts(hid_t parent, const std::string& name, std::span<const std::string> texts);
/// One entry for a scalar data set, else one an element.
std::vector<std::string> read_texts(const Hdf5Dataset& dataset, std::string_view what);

/// One-dimensional uint64, for digests.
void write_digests(hid_t parent, const std::string& name, std::span<const std::uint64_t> values);
std::vector<std::uint64_t> read_digests(const Hdf5Dataset& dataset, std::string_view what);

void write_attribute(hid_t object, const std::string& name, std::string_view text);
void write_attribute(hid_t object, const std::string& name, std::int64_t value);
void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts);
std::vector<std::string> read_text_attribute(hid_t object, const std::string& name);
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

}  // namespace kolo::io
