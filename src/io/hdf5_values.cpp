#include "kolo/io/hdf5_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/util/error.hpp"

namespace kolo::io {
namespace {

hid_t native_type(DType type) {
  switch (type) {
    case DType::f32:
      return H5T_NATIVE_FLOAT;
    case DType::f64:
      return H5T_NATIVE_DOUBLE;
    case DType::i64:
      return H5T_NATIVE_INT64;
    case DType::u8:
      return H5T_NATIVE_UINT8;
  }
  return H5I_INVALID_HID;
}

DType dtype_from(hid_t type, std::string_view what) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_FLOAT && size == 4) return DType::f32;
  if (kind == H5T_FLOAT && size == 8) return DType::f64;
  if (kind == H5T_INTEGER && size == 8 && H5Tget_sign(type) == H5T_SGN_2) return DType::i64;
  if (kind == H5T_INTEGER && size == 1 && H5Tget_sign(type) == H5T_SGN_NONE) return DType::u8;
  throw CheckpointError(fmt::format(
      "{} has elements of an unexpected type ({} bytes each); expected fp32, fp64, int64 or uint8", what,
      size));
}

std::vector<std::int64_t> shape_of(hid_t space, std::string_view what) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) throw_hdf5_error(fmt::format("cannot read the shape of {}", what));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

Hdf5Space make_space(std::span<const std::int64_t> shape) {
  constexpr std::string_view kWhat = "cannot describe the shape of an array";
  if (shape.empty()) return {H5Screate(H5S_SCALAR), kWhat};
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), kWhat};
}

/// Fixed length, the last byte NUL: tools then print the text without its padding, and an empty text has a
/// length.
Hdf5Type make_text_type(std::size_t length) {
  Hdf5Type type(H5Tcopy(H5T_C_S1), "cannot make a string type");
  check_hdf5(H5Tset_size(type.id(), length), "cannot size a string type");
  check_hdf5(H5Tset_strpad(type.id(), H5T_STR_NULLTERM), "cannot end a string type");
  check_hdf5(H5Tset_cset(type.id(), H5T_CSET_UTF8), "cannot mark a string type as UTF-8");
  return type;
}

/// Texts side by side, filled up with NUL to one length.
struct PackedTexts {
  std::size_t length = 1;
  std::string bytes;
};

PackedTexts pack(std::span<const std::string> texts, std::string_view name) {
  PackedTexts packed;
  for (const std::string& text : texts) {
    if (text.find('\0') != std::string::npos)
      throw CheckpointError(
          fmt::format("the text '{}' contains a NUL character, which HDF5 would cut", name));
    packed.length = std::max(packed.length, text.size() + 1);
  }
  packed.bytes.reserve(packed.length * texts.size());
  for (const std::string& text : texts)
    packed.bytes.append(text).append(packed.length - text.size(), '\0');
  return packed;
}

std::vector<std::string> unpack(const std::string& bytes, std::size_t length) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < bytes.size(); begin += length) {
    std::string text = bytes.substr(begin, length);
    text.resize(std::min(text.find('\0'), text.size()));
    texts.push_back(std::move(text));
  }
  return texts;
}

Hdf5Dataset create_dataset(hid_t parent, const std::string& name, hid_t type, const Hdf5Space& space) {
  check_link_name(name);
  return {H5Dcreate2(parent, name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          fmt::format("cannot create the data set '{}'", name)};
}

void write_elements(const Hdf5Dataset& dataset, const std::string& name, hid_t type, const void* data) {
  check_hdf5(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
             fmt::format("cannot write the data set '{}'", name));
}

void write_raw_attribute(hid_t object, const std::string& name, hid_t type, const Hdf5Space& space,
                         const void* data) {
  const std::string what = fmt::format("cannot write the attribute '{}'", name);
  const Hdf5Attribute attribute(H5Acreate2(object, name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                what);
  if (H5Sget_simple_extent_npoints(space.id()) > 0) check_hdf5(H5Awrite(attribute.id(), type, data), what);
}

void require_fixed_text(hid_t type, std::string_view what) {
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
    throw CheckpointError(fmt::format("{} is not fixed-length text", what));
}

/// Fixed-length texts of an array of `shape`.
std::size_t bytes_of_texts(std::vector<std::int64_t> shape, std::size_t length) {
  shape.push_back(static_cast<std::int64_t>(length));
  return bytes_of(DType::u8, shape);
}

/// Before memory is taken: HDF5 makes up the elements that a file says to hold but does not.
void require_stored(const Hdf5Dataset& dataset, std::size_t bytes, std::string_view what) {
  if (const hsize_t stored = H5Dget_storage_size(dataset.id()); stored < bytes)
    throw CheckpointError(fmt::format("{} has {} bytes; expected {}", what, stored, bytes));
}

}  // namespace

void check_link_name(std::string_view name) {
  if (name.empty() || name == "." || name.find('/') != name.npos || name.find('\0') != name.npos)
    throw CheckpointError(fmt::format(
        "'{}' cannot name an HDF5 object; expected text that is not empty, not '.' and has no '/'", name));
}

std::size_t bytes_of(DType type, std::span<const std::int64_t> shape) {
  std::size_t bytes = size_of(type);
  bool possible = true;
  for (const std::int64_t extent : shape)
    possible =
        possible && extent >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes);
  if (!possible)
    throw CheckpointError(fmt::format("an array cannot have the shape [{}]", fmt::join(shape, ", ")));
  return bytes;
}

Hdf5Group create_group(hid_t parent, const std::string& name) {
  check_link_name(name);
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          fmt::format("cannot create the group '{}'", name)};
}

Hdf5Group open_group(hid_t parent, const std::string& name) {
  return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), fmt::format("the group '{}' is missing", name)};
}

std::vector<std::string> link_names(hid_t group) {
  H5G_info_t info{};
  check_hdf5(H5Gget_info(group, &info), "cannot list a group");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const auto name_at = [&](char* buffer, std::size_t size) {
      const ssize_t length =
          H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, size, H5P_DEFAULT);
      if (length < 0) throw_hdf5_error("cannot list a group");
      return static_cast<std::size_t>(length);
    };
    std::string name(name_at(nullptr, 0), '\0');
    name_at(name.data(), name.size() + 1);
    names.push_back(std::move(name));
  }
  return names;
}

Hdf5Dataset open_dataset(hid_t parent, const std::string& path) {
  return {H5Dopen2(parent, path.c_str(), H5P_DEFAULT), fmt::format("the data set '{}' is missing", path)};
}

Hdf5Kind kind_of(const Hdf5Dataset& dataset) {
  const Hdf5Type type(H5Dget_type(dataset.id()), "cannot read the type of a data set");
  switch (H5Tget_class(type.id())) {
    case H5T_INTEGER:
    case H5T_FLOAT:
      return Hdf5Kind::array;
    case H5T_STRING:
      return Hdf5Kind::text;
    default:
      return Hdf5Kind::other;
  }
}

void write_array(hid_t parent, const std::string& name, DType type, std::span<const std::int64_t> shape,
                 std::span<const std::byte> data) {
  if (const std::size_t expected = bytes_of(type, shape); data.size() != expected)
    throw CheckpointError(fmt::format("'{}' of shape [{}] has {} bytes; expected {}", name,
                                      fmt::join(shape, ", "), data.size(), expected));
  const Hdf5Space space = make_space(shape);
  const Hdf5Dataset dataset = create_dataset(parent, name, native_type(type), space);
  if (!data.empty()) write_elements(dataset, name, native_type(type), data.data());
}

Hdf5Array read_array(const Hdf5Dataset& dataset, std::string_view what) {
  const Hdf5Type type(H5Dget_type(dataset.id()), fmt::format("cannot read the type of {}", what));
  const Hdf5Space space(H5Dget_space(dataset.id()), fmt::format("cannot read the shape of {}", what));
  Hdf5Array array{dtype_from(type.id(), what), shape_of(space.id(), what), {}};
  const std::size_t bytes = bytes_of(array.type, array.shape);
  require_stored(dataset, bytes, what);
  array.data.resize(bytes);
  if (!array.data.empty())
    check_hdf5(
        H5Dread(dataset.id(), native_type(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data.data()),
        fmt::format("cannot read {}", what));
  return array;
}

void write_text(hid_t parent, const std::string& name, std::string_view text) {
  const PackedTexts packed = pack(std::vector<std::string>{std::string(text)}, name);
  const Hdf5Type type = make_text_type(packed.length);
  const Hdf5Dataset dataset = create_dataset(parent, name, type.id(), make_space({}));
  write_elements(dataset, name, type.id(), packed.bytes.data());
}

void write_texts(hid_t parent, const std::string& name, std::span<const std::string> texts) {
  const PackedTexts packed = pack(texts, name);
  const Hdf5Type type = make_text_type(packed.length);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(texts.size())};
  const Hdf5Dataset dataset = create_dataset(parent, name, type.id(), make_space(shape));
  if (!texts.empty()) write_elements(dataset, name, type.id(), packed.bytes.data());
}

std::vector<std::string> read_texts(const Hdf5Dataset& dataset, std::string_view what) {
  const Hdf5Type type(H5Dget_type(dataset.id()), fmt::format("cannot read the type of {}", what));
  require_fixed_text(type.id(), what);
  const Hdf5Space space(H5Dget_space(dataset.id()), fmt::format("cannot read the shape of {}", what));
  const std::size_t length = H5Tget_size(type.id());
  const Hdf5Type memory = make_text_type(length);
  const std::size_t size = bytes_of_texts(shape_of(space.id(), what), length);
  require_stored(dataset, size, what);
  std::string bytes(size, '\0');
  if (!bytes.empty())
    check_hdf5(H5Dread(dataset.id(), memory.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
               fmt::format("cannot read {}", what));
  return unpack(bytes, length);
}

void write_digests(hid_t parent, const std::string& name, std::span<const std::uint64_t> values) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
  const Hdf5Dataset dataset = create_dataset(parent, name, H5T_NATIVE_UINT64, make_space(shape));
  if (!values.empty()) write_elements(dataset, name, H5T_NATIVE_UINT64, values.data());
}

std::vector<std::uint64_t> read_digests(const Hdf5Dataset& dataset, std::string_view what) {
  const Hdf5Type type(H5Dget_type(dataset.id()), fmt::format("cannot read the type of {}", what));
  if (H5Tequal(type.id(), H5T_NATIVE_UINT64) <= 0)
    throw CheckpointError(fmt::format("{} is not of type uint64", what));
  const Hdf5Space space(H5Dget_space(dataset.id()), fmt::format("cannot read the shape of {}", what));
  const std::vector<std::int64_t> shape = shape_of(space.id(), what);
  const std::size_t bytes = bytes_of(DType::i64, shape);
  require_stored(dataset, bytes, what);
  std::vector<std::uint64_t> values(bytes / sizeof(std::uint64_t));
  if (!values.empty())
    check_hdf5(H5Dread(dataset.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
               fmt::format("cannot read {}", what));
  return values;
}

void write_attribute(hid_t object, const std::string& name, std::string_view text) {
  const PackedTexts packed = pack(std::vector<std::string>{std::string(text)}, name);
  write_raw_attribute(object, name, make_text_type(packed.length).id(), make_space({}), packed.bytes.data());
}

void write_attribute(hid_t object, const std::string& name, std::int64_t value) {
  write_raw_attribute(object, name, H5T_NATIVE_INT64, make_space({}), &value);
}

void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts) {
  const PackedTexts packed = pack(texts, name);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(texts.size())};
  write_raw_attribute(object, name, make_text_type(packed.length).id(), make_space(shape),
                      packed.bytes.data());
}

std::vector<std::string> read_text_attribute(hid_t object, const std::string& name) {
  const std::string what = fmt::format("the attribute '{}'", name);
  const Hdf5Attribute attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), what + " is missing");
  const Hdf5Type type(H5Aget_type(attribute.id()), "cannot read the type of " + what);
  require_fixed_text(type.id(), what);
  const Hdf5Space space(H5Aget_space(attribute.id()), "cannot read the shape of " + what);
  const std::size_t length = H5Tget_size(type.id());
  const Hdf5Type memory = make_text_type(length);
  std::string bytes(bytes_of_texts(shape_of(space.id(), what), length), '\0');
  if (!bytes.empty()) check_hdf5(H5Aread(attribute.id(), memory.id(), bytes.data()), "cannot read " + what);
  return unpack(bytes, length);
}

std::int64_t read_integer_attribute(hid_t object, const std::string& name) {
  const std::string what = fmt::format("the attribute '{}'", name);
  const Hdf5Attribute attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), what + " is missing");
  const Hdf5Space space(H5Aget_space(attribute.id()), "cannot read the shape of " + what);
  if (H5Sget_simple_extent_npoints(space.id()) != 1) throw CheckpointError(what + " is not one number");
  std::int64_t value = 0;
  check_hdf5(H5Aread(attribute.id(), H5T_NATIVE_INT64, &value), "cannot read " + what);
  return value;
}

}  // namespace kolo::io
