#include "kolo/data/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/data/philox.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

constexpr std::int64_t kCells = 4;          // the pattern's grid is kCells x kCells intervals
constexpr float kContrast = 0.6F;           // patterns reach 0.5 -+ kContrast / 2
constexpr float kNoise = 0.3F / 147.8017F;  // standard deviation 0.3 over that of a sum of four uniform bytes
constexpr std::int64_t kPoints = (kCells + 1) * (kCells + 1);

// The sum of four uniform bytes, centred: nearly normal, and exact in a float.
float noise_of(std::uint32_t word) {
  const std::uint32_t sum = (word & 255U) + (word >> 8 & 255U) + (word >> 16 & 255U) + (word >> 24);
  return (static_cast<float>(sum) - 510.0F) * kNoise;
}

struct Weight {
  std::int64_t cell;
  float right;  // weight of cell + 1
};

Weight weight_at(std::int64_t i, std::int64_t extent) {
  const std::int64_t scaled = (2 * i + 1) * kCells;  // in units of 1 / (2 extent) of a cell
  return {scaled / (2 * extent), static_cast<float>(scaled % (2 * extent)) / static_cast<float>(2 * extent)};
}

// One class's pattern: a random grid for each channel, interpolated bilinearly.
std::vector<float> make_pattern(const SyntheticOptions& options, std::int64_t label) {
  const auto [channels, height, width] = options.shape;
  std::vector<float> pattern;
  pattern.reserve(static_cast<std::size_t>(options.shape.numel()));
  std::vector<float> grid(kPoints);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < kPoints; ++p) {
      const auto point = static_cast<std::uint64_t>(c * kPoints + p);
      const PhiloxBlock random =
          draw(options.seed, Stream::prototype, static_cast<std::uint64_t>(label), point);
      grid[static_cast<std::size_t>(p)] = static_cast<float>(random[0] >> 8) * 0x1p-24F - 0.5F;
    }
    for (std::int64_t y = 0; y < height; ++y) {
      const Weight down = weight_at(y, height);
      for (std::int64_t x = 0; x < width; ++x) {
        const Weight across = weight_at(x, width);
        const float* corner = grid.data() + down.cell * (kCells + 1) + across.cell;
        const float top = corner[0] + (corner[1] - corner[0]) * across.right;
        corner += kCells + 1;
        const float bottom = corner[0] + (corner[1] - corner[0]) * across.right;
        pattern.push_back(0.5F + kContrast * (top + (bottom - top) * down.right));
      }
    }
  }
  return pattern;
}

void add_noise(const SyntheticOptions& options, std::int64_t sample, std::span<float> image) {
  // The part takes the lowest bit of the index, so that training and test samples never share noise.
  const auto index = static_cast<std::uint64_t>(sample) * 2 + (options.part == Part::test ? 1U : 0U);
  for (std::size_t at = 0; at < image.size(); at += 4) {
    const PhiloxBlock random = draw(options.seed, Stream::noise, index, at / 4);
    const std::size_t count = std::min<std::size_t>(4, image.size() - at);
    for (std::size_t k = 0; k < count; ++k)
      image[at + k] += noise_of(random[k]);
  }
}

void generate(const SyntheticOptions& options, std::span<float> pixels, std::span<std::int64_t> labels) {
  // Samples of one class after the other: one pattern at a time is enough, however many classes there are.
  const auto numel = static_cast<std::size_t>(options.shape.numel());
  const std::int64_t shown = std::min(options.classes, options.samples);
  for (std::int64_t label = 0; label < shown; ++label) {
    const std::vector<float> pattern = make_pattern(options, label);
    for (std::int64_t i = label; i < options.samples; i += options.classes) {
      const auto at = static_cast<std::size_t>(i);
      labels[at] = label;
      const std::span<float> image = pixels.subspan(at * numel, numel);
      std::ranges::copy(pattern, image.begin());
      add_noise(options, i, image);
    }
  }
}

}  // namespace

DecodedSource make_synthetic(const SyntheticOptions& options) {
  const auto [channels, height, width] = options.shape;
  const bool positive = std::min({options.samples, channels, height, width, options.classes}) > 0;
  const auto bytes = checked_product({options.samples, channels, height, width, std::int64_t{sizeof(float)}});
  if (!positive || !bytes) {
    throw DataError(fmt::format("synthetic data set: {} samples of shape {} in {} classes: expected {}",
                                options.samples, to_string(options.shape), options.classes,
                                positive ? "a size that fits in memory" : "positive numbers"));
  }
  DecodedSource source;
  source.header.shape = options.shape;
  source.header.pixel_type = PixelType::f32;
  source.header.num_classes = options.classes;
  source.header.description =
      fmt::format("synthetic {} set, seed {}", options.part == Part::train ? "training" : "test",
                  static_cast<std::int64_t>(options.seed));
  source.size = options.samples;
  source.decode = [options](std::span<std::byte> pixels, std::span<std::int64_t> labels) {
    const std::span<float> values(reinterpret_cast<float*>(pixels.data()), pixels.size() / sizeof(float));
    generate(options, values, labels);
  };
  return source;
}

}  // namespace kolo::data
