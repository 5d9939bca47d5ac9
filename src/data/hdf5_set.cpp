#include "kolo/data/hdf5_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "hdf5_handle.hpp"
#include "kolo/io/hdf5_mutex.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

enum class ChannelAxis { first, last };

struct ImageLayout {
  ImageShape shape;
  ChannelAxis channels = ChannelAxis::first;
  PixelType type = PixelType::u8;
};

bool is_channel_count(hsize_t n) { return n == 1 || n == 3 || n == 4; }

PixelType pixel_type_of(const Hdf5DataSet& images) {
  const Hdf5Id type(H5Dget_type(images.id.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  const std::size_t size = H5Tget_size(type.get());
  if (kind == H5T_INTEGER && size == 1 && H5Tget_sign(type.get()) == H5T_SGN_NONE) return PixelType::u8;
  if (kind == H5T_FLOAT && (size == 4 || size == 8)) return PixelType::f32;
  throw DataError(fmt::format("{}: pixels are {} of {} bytes: expected uint8, float32 or float64",
                              images.where,
                              kind == H5T_INTEGER ? "integers"
                              : kind == H5T_FLOAT ? "floating-point numbers"
                                                  : "not numbers",
                              size));
}

ImageLayout layout_of(const Hdf5DataSet& images) {
  const std::vector<hsize_t>& dims = images.dims;
  const auto fail = [&](const char* expected) {
    throw DataError(
        fmt::format("{}: shape ({}): expected {}", images.where, fmt::join(dims, ", "), expected));
  };
  if (dims.size() != 3 && dims.size() != 4) fail("(N, H, W), (N, C, H, W) or (N, H, W, C)");
  if (std::ranges::count(dims, 0U) != 0) fail("no dimension of size 0");
  constexpr hsize_t kLimit = std::numeric_limits<std::int64_t>::max();
  if (std::ranges::any_of(dims, [](hsize_t d) { return d > kLimit; })) fail("a size that fits in memory");
  std::vector<std::int64_t> d(dims.begin(), dims.end());
  if (d.size() == 3) d.insert(d.begin() + 1, 1);
  if (!checked_product({d[0], d[1], d[2], d[3], std::int64_t{sizeof(float)}}))
    fail("a size that fits in memory");
  const PixelType type = pixel_type_of(images);
  if (dims.size() == 3) return {{1, d[2], d[3]}, ChannelAxis::first, type};
  if (is_channel_count(dims[1])) return {{d[1], d[2], d[3]}, ChannelAxis::first, type};
  if (!is_channel_count(dims[3])) fail("1, 3 or 4 channels in axis 1 (N, C, H, W) or axis 3 (N, H, W, C)");
  return {{d[3], d[1], d[2]}, ChannelAxis::last, type};
}

void check_labels_set(const Hdf5DataSet& labels, const Hdf5DataSet& images) {
  const Hdf5Id type(H5Dget_type(labels.id.get()));
  if (H5Tget_class(type.get()) != H5T_INTEGER) {
    throw DataError(fmt::format("{}: expected integers", labels.where));
  }
  if (labels.dims.size() != 1) {
    throw DataError(
        fmt::format("{}: shape ({}): expected one dimension", labels.where, fmt::join(labels.dims, ", ")));
  }
  if (labels.dims[0] != images.dims[0]) {
    throw DataError(fmt::format("{}: {} images, but {} has {} labels", images.where, images.dims[0],
                                labels.where, labels.dims[0]));
  }
}

hid_t memory_type(PixelType type) { return type == PixelType::u8 ? H5T_NATIVE_UINT8 : H5T_NATIVE_FLOAT; }

// height, width, channels -> channels, height, width
template <class T>
void channels_first(const T* in, T* out, const ImageShape& shape) {
  const std::int64_t area = shape.height * shape.width;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    for (std::int64_t i = 0; i < area; ++i)
      *out++ = in[i * shape.channels + c];
  }
}

// Reads `count` images from `first` on, as they are stored.
void read_images(const Hdf5DataSet& images, PixelType type, hsize_t first, hsize_t count, std::byte* out) {
  std::vector<hsize_t> start(images.dims.size(), 0);
  std::vector<hsize_t> extent = images.dims;
  start[0] = first;
  extent[0] = count;
  const Hdf5Id in_file(H5Dget_space(images.id.get()));
  const Hdf5Id in_memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
  H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
  if (H5Dread(images.id.get(), memory_type(type), in_memory.get(), in_file.get(), H5P_DEFAULT, out) < 0) {
    hdf5_failure(images.where, fmt::format("read images {}..{}", first, first + count - 1));
  }
}

void read_pixels(const Hdf5DataSet& images, const ImageLayout& layout, std::span<std::byte> pixels) {
  constexpr std::size_t kPiece = 16 << 20;
  const auto numel = static_cast<std::size_t>(layout.shape.numel());
  const std::size_t image_bytes = numel * static_cast<std::size_t>(bytes_per_pixel(layout.type));
  const std::size_t total = pixels.size() / image_bytes;
  const std::size_t piece = std::clamp<std::size_t>(kPiece / image_bytes, 1, total);
  std::vector<std::byte> scratch(layout.channels == ChannelAxis::last ? piece * image_bytes : 0);
  for (std::size_t first = 0; first < total; first += piece) {
    const std::size_t count = std::min(piece, total - first);
    std::byte* out = pixels.data() + first * image_bytes;
    read_images(images, layout.type, first, count, scratch.empty() ? out : scratch.data());
    if (scratch.empty()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* from = scratch.data() + i * image_bytes;
      std::byte* to = out + i * image_bytes;
      if (layout.type == PixelType::u8) {
        channels_first(from, to, layout.shape);
      } else {
        channels_first(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), layout.shape);
      }
    }
  }
}

void check_finite(const Hdf5DataSet& images, std::span<const std::byte> pixels, std::int64_t numel) {
  const std::span values(reinterpret_cast<const float*>(pixels.data()), pixels.size() / sizeof(float));
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw DataError(fmt::format("{}: a pixel of image {} is {}: expected finite numbers", images.where,
                              (bad - values.begin()) / numel, *bad));
}

void decode(const std::filesystem::path& path, const std::string& group, std::span<std::byte> pixels,
            std::span<std::int64_t> labels) {
  const std::scoped_lock lock(io::hdf5_mutex());
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file(path);
  const Hdf5DataSet images = open_hdf5_data_set(file, path, group + "/images");
  const ImageLayout layout = layout_of(images);
  read_pixels(images, layout, pixels);
  if (layout.type == PixelType::f32) check_finite(images, pixels, layout.shape.numel());
  const Hdf5DataSet stored = open_hdf5_data_set(file, path, group + "/labels");
  if (H5Dread(stored.id.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data()) < 0) {
    hdf5_failure(stored.where, "read the labels");
  }
}

}  // namespace

std::optional<DecodedSource> open_hdf5(const std::filesystem::path& path, Part part) {
  const std::scoped_lock lock(io::hdf5_mutex());
  const QuietHdf5 quiet;
  const std::string group = part == Part::train ? "/train" : "/test";
  const Hdf5Id file = open_hdf5_file(path);
  if (H5Lexists(file.get(), group.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
  const Hdf5DataSet images = open_hdf5_data_set(file, path, group + "/images");
  const Hdf5DataSet labels = open_hdf5_data_set(file, path, group + "/labels");
  const ImageLayout layout = layout_of(images);
  check_labels_set(labels, images);
  DecodedSource source;
  source.size = static_cast<std::int64_t>(images.dims[0]);
  source.header.shape = layout.shape;
  source.header.pixel_type = layout.type;
  source.header.description = path.string() + ":" + group;
  if (auto names = read_hdf5_strings(file, path, "class_names")) {
    source.header.num_classes = static_cast<std::int64_t>(names->size());
    source.header.class_names = std::move(*names);
  }
  source.decode = [path, group](std::span<std::byte> pixels, std::span<std::int64_t> values) {
    decode(path, group, pixels, values);
  };
  return source;
}

}  // namespace kolo::data
