#include "kolo/data/order.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>
#include <utility>

namespace kolo::data {

std::vector<std::int64_t> permutation(std::int64_t size, RandomSequence random) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.below(left)]);
  }
  return values;
}

EpochOrder::EpochOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch, Shuffle shuffle)
    : size_(size) {
  if (shuffle == Shuffle::off) return;
  samples_ = permutation(size, RandomSequence(seed, Stream::order, static_cast<std::uint64_t>(epoch)));
}

std::int64_t EpochOrder::operator[](std::int64_t position) const {
  if (position < 0 || position >= size_) {
    throw std::out_of_range(fmt::format("position {} of an epoch of {} samples", position, size_));
  }
  return samples_.empty() ? position : samples_[static_cast<std::size_t>(position)];
}

}  // namespace kolo::data
