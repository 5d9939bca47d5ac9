#include "kolo/data/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "kolo/data/philox.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

constexpr std::int64_t kByteValues = 256;

std::vector<double> per_channel(const std::vector<double>& values, std::int64_t channels, double absent,
                                const char* key) {
  const auto count = static_cast<std::size_t>(channels);
  for (const double value : values) {
    if (!std::isfinite(value)) throw ConfigError(fmt::format("{}: {}: expected finite numbers", key, value));
  }
  if (values.empty()) return std::vector<double>(count, absent);
  if (values.size() == 1) return std::vector<double>(count, values.front());
  if (values.size() == count) return values;
  throw ConfigError(fmt::format("{}: {} values found: expected 1, or {} (one for each channel of the images)",
                                key, values.size(), channels));
}

template <class T>
std::vector<T> make_table(const std::vector<double>& mean, const std::vector<double>& std) {
  std::vector<T> table;
  table.reserve(mean.size() * kByteValues);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    for (int byte = 0; byte < kByteValues; ++byte) {
      table.push_back(static_cast<T>((byte / 255.0 - mean[c]) / std[c]));
    }
  }
  return table;
}

// Values of one channel: bytes by table, floats by arithmetic.
template <class T>
struct ByteMap {
  const T* table;
  T operator()(std::uint8_t pixel) const { return table[pixel]; }
};

template <class T>
struct FloatMap {
  T mean;
  T std;
  T operator()(float pixel) const { return (static_cast<T>(pixel) - mean) / std; }
};

// One row of the crop: out[x] = in[x + right] where the stored row reaches, `padding` elsewhere; mirrored if
// asked.
template <class P, class T, class Map>
void fill_row(const P* in, std::int64_t width, std::int64_t right, Flip flip, const Map& map, T padding,
              T* out) {
  const std::int64_t first = std::clamp<std::int64_t>(-right, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(width - right, first, width);
  if (flip == Flip::off) {
    std::fill(out, out + first, padding);
    for (std::int64_t x = first; x < last; ++x)
      out[x] = map(in[x + right]);
    std::fill(out + last, out + width, padding);
  } else {
    T* end = out + width - 1;
    std::fill(out, out + width - last, padding);
    for (std::int64_t x = first; x < last; ++x)
      end[-x] = map(in[x + right]);
    std::fill(out + width - first, out + width, padding);
  }
}

}  // namespace

Transform transform_of(const config::DataSection& section) {
  return {section.crop_padding, section.flip ? Flip::on : Flip::off, section.mean, section.std};
}

Assembler::Assembler(Dataset dataset, const Transform& transform, std::uint64_t seed)
    : dataset_(std::move(dataset)),
      crop_padding_(transform.crop_padding),
      flip_(transform.flip),
      mean_(per_channel(transform.mean, dataset_.shape().channels, 0.0, "data.mean")),
      std_(per_channel(transform.std, dataset_.shape().channels, 1.0, "data.std")),
      seed_(seed) {
  for (const double value : std_) {
    if (value <= 0) throw ConfigError(fmt::format("data.std: {}: expected a number above 0", value));
  }
  if (crop_padding_ < 0) {
    throw ConfigError(fmt::format("data.crop_padding: {}: expected 0 or more", crop_padding_));
  }
  table32_ = make_table<float>(mean_, std_);
  table64_ = make_table<double>(mean_, std_);
}

Assembler::Window Assembler::window_of(std::int64_t epoch, std::int64_t sample) const {
  const PhiloxBlock random =
      draw(seed_, Stream::augment, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(epoch));
  const std::int64_t places = 2 * crop_padding_ + 1;
  Window window;
  window.down = scale_to(random[0], places) - crop_padding_;
  window.right = scale_to(random[1], places) - crop_padding_;
  if (flip_ == Flip::on && (random[2] & 1U) != 0) window.flip = Flip::on;
  return window;
}

template <class P, class T>
void Assembler::fill_image(const P* pixels, const Window& window, T* out) const {
  const auto [channels, height, width] = dataset_.shape();
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const auto map = [&] {
      if constexpr (std::is_same_v<P, float>) {
        return FloatMap<T>{static_cast<T>(mean_[channel]), static_cast<T>(std_[channel])};
      } else if constexpr (std::is_same_v<T, float>) {
        return ByteMap<T>{table32_.data() + channel * kByteValues};
      } else {
        return ByteMap<T>{table64_.data() + channel * kByteValues};
      }
    }();
    const T padding = map(P{0});
    for (std::int64_t y = 0; y < height; ++y, out += width) {
      const std::int64_t row = y + window.down;
      if (row < 0 || row >= height) {
        std::fill(out, out + width, padding);
      } else {
        fill_row(pixels + row * width, width, window.right, window.flip, map, padding, out);
      }
    }
    pixels += height * width;
  }
}

template <class T>
void Assembler::fill(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
                     std::span<T> out) const {
  const auto numel = static_cast<std::size_t>(dataset_.shape().numel());
  if (out.size() != samples.size() * numel) {
    throw std::invalid_argument(
        fmt::format("{} samples of {} pixels do not fill {} values", samples.size(), numel, out.size()));
  }
  T* to = out.data();
  for (const std::int64_t sample : samples) {
    if (sample < 0 || sample >= dataset_.size()) {
      throw std::out_of_range(fmt::format("sample {} of a set of {}", sample, dataset_.size()));
    }
    const Window window = augment == Augment::on ? window_of(epoch, sample) : Window{};
    const std::byte* pixels = dataset_.image(sample);
    if (dataset_.pixel_type() == PixelType::u8) {
      fill_image(reinterpret_cast<const std::uint8_t*>(pixels), window, to);
    } else {
      fill_image(reinterpret_cast<const float*>(pixels), window, to);
    }
    to += numel;
  }
}

void Assembler::assemble(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
                         std::span<float> out) const {
  fill(samples, epoch, augment, out);
}

void Assembler::assemble(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
                         std::span<double> out) const {
  fill(samples, epoch, augment, out);
}

}  // namespace kolo::data
