// Which samples make up each step, and who computes them: integers only, the same on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "kolo/config/batch_geometry.hpp"
#include "kolo/data/share.hpp"

namespace kolo::train {

/// An epoch of `samples` samples cut into steps of `batch.global_batch`; the last step takes what is left,
/// nothing is repeated or dropped.
class Geometry {
 public:
  /// `min_samples`: the fewest a rank can compute at a time, 2 with batch norm and else 1.  A last step with
  /// fewer than that is left out (see skipped_tail).
  Geometry(std::int64_t samples, config::BatchGeometry batch, int rank, int world_size,
           std::int64_t min_samples);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t global_batch() const { return batch_.global_batch; }
  std::int64_t batch_per_rank() const { return batch_.batch_per_rank; }
  std::int64_t samples_per_epoch() const { return samples_; }
  /// Samples at the end of each epoch's order that no step takes: 0, or 1 with batch norm.
  std::int64_t skipped_tail() const { return skipped_; }
  /// Positions in the epoch's order that step 0 .. steps_per_epoch-1 takes, over all ranks.
  data::Range step(std::int64_t step_in_epoch) const;
  /// This rank's forward passes in that step; none when the step is too short for all ranks.
  std::vector<data::Range> micro_batches(std::int64_t step_in_epoch) const;

 private:
  std::int64_t samples_;
  config::BatchGeometry batch_;
  int rank_;
  int world_size_;
  std::int64_t min_samples_;
  std::int64_t steps_per_epoch_;
  std::int64_t skipped_;
};

}  // namespace kolo::train
