// Who computes which samples of a step, and in which pieces.  Pure functions: each rank finds its own share
// without a message, and any rank can compute any other's.
//
// The shares of a step are contiguous, cover it exactly once and differ by at most one sample among the ranks
// that take part.  Batch norm needs at least two samples wherever it takes moments, so that a short step can
// leave ranks out rather than give them one sample.
#pragma once

#include <cstdint>
#include <vector>

namespace kolo::data {

/// Positions begin .. end-1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const Range&) const = default;
};

/// The share of `rank` in a step of `count` samples, as positions 0 .. count-1.  Every rank gets at least
/// `min_per_rank`
/// (>= 1) or none; the first ranks take part; nobody does when count < min_per_rank.
Range share(std::int64_t count, int rank, int world_size, std::int64_t min_per_rank);

/// Cuts a share into as few consecutive pieces of at most `batch_per_rank` (>= 1) samples as possible, of
/// sizes that differ by at most one.  Pieces grow beyond batch_per_rank only where one would have fewer than
/// `min_size` (>= 1) samples otherwise.  An empty share has no pieces.
std::vector<Range> micro_batches(Range share, std::int64_t batch_per_rank, std::int64_t min_size);

}  // namespace kolo::data
