// From stored pixels to a network's input in one pass: crop, flip, scale to 0..1, normalise.
//
// The order of the steps is torchvision's RandomCrop(size, padding), RandomHorizontalFlip(0.5), ToTensor,
// Normalize: padding is black before normalisation.  What happens to a sample is a function of (seed, epoch,
// sample) alone, so that it does not depend on the rank, the batch or the number of ranks.  Bytes go through
// one table a channel, computed in fp64: each output is the correctly rounded value of (byte / 255 - mean) /
// std.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kolo/config/config.hpp"
#include "kolo/data/dataset.hpp"

namespace kolo::data {

enum class Flip { off, on };
enum class Augment { off, on };

struct Transform {
  std::int64_t crop_padding = 0;  ///< pixels on every side; augmentation only
  Flip flip = Flip::off;          ///< horizontally with probability 1/2; augmentation only
  std::vector<double> mean;       ///< per channel, or one for all; empty: 0
  std::vector<double> std;        ///< likewise; empty: 1
};

Transform transform_of(const config::DataSection& section);

/// Safe to use from several threads at once.
class Assembler {
 public:
  /// Throws ConfigError naming data.mean or data.std when its length is neither 0, 1 nor the number of
  /// channels, when a value is not finite or a std is not positive, or data.crop_padding when it is negative.
  Assembler(Dataset dataset, const Transform& transform, std::uint64_t seed);

  /// Fills `out`, samples.size() images of contiguous channels, height, width.  Throws std::out_of_range for
  /// a sample that is not in the set, std::invalid_argument for another size of `out`.
  void assemble(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
                std::span<float> out) const;
  void assemble(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
                std::span<double> out) const;

  const Dataset& dataset() const { return dataset_; }

 private:
  struct Window {
    std::int64_t down = 0;  // row of the stored image that comes first
    std::int64_t right = 0;
    Flip flip = Flip::off;
  };
  Window window_of(std::int64_t epoch, std::int64_t sample) const;
  template <class T>
  void fill(std::span<const std::int64_t> samples, std::int64_t epoch, Augment augment,
            std::span<T> out) const;
  template <class P, class T>
  void fill_image(const P* pixels, const Window& window, T* out) const;

  Dataset dataset_;
  std::int64_t crop_padding_;
  Flip flip_;
  std::vector<double> mean_;  // one a channel
  std::vector<double> std_;
  std::vector<float> table32_;  // channels x 256, for u8 pixels
  std::vector<double> table64_;
  std::uint64_t seed_;
};

}  // namespace kolo::data
