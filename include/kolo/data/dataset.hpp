// A labelled set of images of one shape, read-only and safe to read from any thread.
//
// One concrete class serves every format: pixels lie in a few blocks of equally spaced images (a mapped file,
// a shared window or a private vector), labels in an array, and a view (a validation split) adds a list of
// indices onto the same storage.  A Dataset is a cheap handle: copies share the storage.  The storage of a
// Dataset that came from a comm::SharedBuffer lives until that buffer is closed.
//
// Invariant: size() > 0 (unless default-constructed), and every label is in 0 .. num_classes()-1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kolo::data {

struct ImageShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t numel() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

/// "3x32x32"
std::string to_string(const ImageShape& shape);

/// u8: a pixel's value is byte / 255.  f32: it is taken as it is.
enum class PixelType { u8, f32 };

constexpr std::int64_t bytes_per_pixel(PixelType type) { return type == PixelType::u8 ? 1 : 4; }

/// `count` images, the first at `first`, each `stride` bytes after the one before.
struct PixelBlock {
  const std::byte* first = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

/// What a reader hands over to make a Dataset.
struct DatasetContents {
  ImageShape shape;
  PixelType pixel_type = PixelType::u8;
  std::int64_t num_classes = 0;          ///< 0: one more than the greatest label
  std::vector<std::string> class_names;  ///< empty where the format has none
  std::string description;               ///< where it came from, for messages
  std::vector<PixelBlock> pixels;        ///< blocks in sample order, f32 ones 4-byte aligned
  std::span<const std::int64_t> labels;
  std::shared_ptr<const void> owner;  ///< keeps pixels and labels alive; null when someone else does
};

class Dataset {
 public:
  Dataset() = default;
  /// Throws DataError when there are no samples, counts differ, or a label is out of range.
  explicit Dataset(DatasetContents contents);

  /// The samples `indices` (each 0 .. size()-1) of this set, in that order, on the same storage.
  Dataset view(std::vector<std::int64_t> indices, std::string description) const;

  std::int64_t size() const { return size_; }
  ImageShape shape() const;
  std::int64_t num_classes() const;
  std::span<const std::string> class_names() const;
  PixelType pixel_type() const;
  /// Contiguous channels, height, width in pixel_type(); i in 0 .. size()-1, unchecked.
  const std::byte* image(std::int64_t i) const;
  std::int64_t label(std::int64_t i) const;
  const std::string& description() const { return description_; }
  /// Digest of size, shape, classes, all labels and the pixels of up to 64 images spread over the set.
  std::uint64_t fingerprint() const;

 private:
  std::int64_t stored_index(std::int64_t i) const {
    return indices_ ? (*indices_)[static_cast<std::size_t>(i)] : i;
  }

  std::shared_ptr<const DatasetContents> contents_;
  std::shared_ptr<const std::vector<std::int64_t>> indices_;
  std::int64_t size_ = 0;
  std::string description_;
};

}  // namespace kolo::data
