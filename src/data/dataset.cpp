#include "kolo/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

// More classes than any classification data set has; a greater label is damage, and would become a layer of
// that width.
constexpr std::int64_t kMaxClasses = 1 << 20;
constexpr std::int64_t kFingerprintImages = 64;

std::int64_t count_images(const DatasetContents& contents) {
  std::int64_t count = 0;
  for (const PixelBlock& block : contents.pixels)
    count += block.count;
  return count;
}

void check_labels(const DatasetContents& contents) {
  const std::int64_t limit = contents.num_classes > 0 ? contents.num_classes : kMaxClasses;
  const auto bad = std::find_if(contents.labels.begin(), contents.labels.end(),
                                [limit](std::int64_t label) { return label < 0 || label >= limit; });
  if (bad == contents.labels.end()) return;
  throw DataError(fmt::format("{}: label {} of sample {} is out of range: expected 0..{} ({} classes{})",
                              contents.description, *bad, bad - contents.labels.begin(), limit - 1, limit,
                              contents.num_classes > 0 ? "" : " at most"));
}

}  // namespace

std::string to_string(const ImageShape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

Dataset::Dataset(DatasetContents contents) {
  const std::int64_t images = count_images(contents);
  const auto labels = static_cast<std::int64_t>(contents.labels.size());
  if (images != labels) {
    throw DataError(fmt::format("{}: {} images but {} labels", contents.description, images, labels));
  }
  if (images == 0 || contents.shape.numel() == 0) {
    throw DataError(fmt::format("{}: empty: {} images of shape {}", contents.description, images,
                                to_string(contents.shape)));
  }
  check_labels(contents);
  if (contents.num_classes == 0) {
    contents.num_classes = *std::max_element(contents.labels.begin(), contents.labels.end()) + 1;
  }
  size_ = images;
  description_ = contents.description;
  contents_ = std::make_shared<const DatasetContents>(std::move(contents));
}

Dataset Dataset::view(std::vector<std::int64_t> indices, std::string description) const {
  if (indices_) {
    for (std::int64_t& index : indices)
      index = stored_index(index);
  }
  Dataset result = *this;
  result.size_ = static_cast<std::int64_t>(indices.size());
  result.indices_ = std::make_shared<const std::vector<std::int64_t>>(std::move(indices));
  result.description_ = std::move(description);
  return result;
}

ImageShape Dataset::shape() const { return contents_ ? contents_->shape : ImageShape{}; }
std::int64_t Dataset::num_classes() const { return contents_ ? contents_->num_classes : 0; }
PixelType Dataset::pixel_type() const { return contents_ ? contents_->pixel_type : PixelType::u8; }

std::span<const std::string> Dataset::class_names() const {
  return contents_ ? std::span(contents_->class_names) : std::span<const std::string>{};
}

const std::byte* Dataset::image(std::int64_t i) const {
  std::int64_t left = stored_index(i);
  auto block = contents_->pixels.begin();
  while (left >= block->count)
    left -= (block++)->count;
  return block->first + left * block->stride;
}

std::int64_t Dataset::label(std::int64_t i) const {
  return contents_->labels[static_cast<std::size_t>(stored_index(i))];
}

std::uint64_t Dataset::fingerprint() const {
  util::Digest digest;
  const ImageShape form = shape();
  digest.add(
      fmt::format("{} {} {} {}", size_, to_string(form), static_cast<int>(pixel_type()), num_classes()));
  for (const std::string& name : class_names())
    digest.add(fmt::format("{}:{}", name.size(), name));
  for (std::int64_t i = 0; i < size_; ++i) {
    const std::int64_t value = label(i);
    digest.add(std::as_bytes(std::span(&value, 1)));
  }
  const auto bytes = static_cast<std::size_t>(form.numel() * bytes_per_pixel(pixel_type()));
  const std::int64_t step = std::max<std::int64_t>(1, size_ / kFingerprintImages);
  for (std::int64_t i = 0; i < size_; i += step)
    digest.add(std::span(image(i), bytes));
  return digest.value();
}

}  // namespace kolo::data
