// In which order an epoch visits the samples: a permutation that is a function of (seed, epoch) alone.
//
// Every rank computes the whole permutation, so that global batch b is the same set of samples for any number
// of ranks and a resumed run goes on with the same samples.  Fisher-Yates over our own generator, because
// std::shuffle gives another order with each standard library.
#pragma once

#include <cstdint>
#include <vector>

#include "kolo/data/philox.hpp"

namespace kolo::data {

enum class Shuffle { off, on };

/// 0 .. size-1 in random order.
std::vector<std::int64_t> permutation(std::int64_t size, RandomSequence random);

class EpochOrder {
 public:
  /// With Shuffle::off the order is 0, 1, 2, ... and takes no memory.  Epochs count modulo 2^32.
  EpochOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch, Shuffle shuffle);

  /// The sample at a position 0 .. size-1; throws std::out_of_range for any other.
  std::int64_t operator[](std::int64_t position) const;
  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_;
  std::vector<std::int64_t> samples_;  // empty when not shuffled
};

}  // namespace kolo::data
