// What `kolo bench allreduce` exchanges in place of gradients, and how it tells a right sum from a wrong one.
//
// A message is planned like a model of tensors of 1 MiB, so that it goes out in buckets as a model's
// gradients do; only the last tensor may be shorter, so element i of the message is element i of the arena.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kolo/fusion/bucket_plan.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::bench {

/// `elements` >= 1.
fusion::BucketPlan plan_message(std::int64_t elements, DType type);

/// Pseudo-random numbers in [-1, 1), different for every rank and element.
template <class T>
std::vector<T> contribution_of(int rank, std::int64_t elements);
extern template std::vector<float> contribution_of<float>(int rank, std::int64_t elements);
extern template std::vector<double> contribution_of<double>(int rank, std::int64_t elements);

/// Whether each of `sums` is `expected` up to the rounding of adding `ranks` numbers of type T in any order:
/// epsilon x ranks x `magnitudes`, the sums of the summands' magnitudes.  All spans have one length.
template <class T>
bool sums_match(std::span<const T> sums, std::span<const double> expected, std::span<const double> magnitudes,
                int ranks) {
  const double relative = static_cast<double>(std::numeric_limits<T>::epsilon()) * ranks;
  bool match = true;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    // A NaN is not within any distance.
    match &= std::abs(static_cast<double>(sums[i]) - expected[i]) <= relative * magnitudes[i];
  }
  return match;
}

}  // namespace kolo::bench
