#include "kolo/train/geometry.hpp"

#include <algorithm>

namespace kolo::train {

Geometry::Geometry(std::int64_t samples, config::BatchGeometry batch, int rank, int world_size,
                   std::int64_t min_samples)
    : samples_(samples), batch_(batch), rank_(rank), world_size_(world_size), min_samples_(min_samples) {
  const std::int64_t tail = samples % batch.global_batch;
  skipped_ = tail > 0 && tail < min_samples ? tail : 0;
  steps_per_epoch_ = samples / batch.global_batch + (tail > skipped_ ? 1 : 0);
}

data::Range Geometry::step(std::int64_t step_in_epoch) const {
  const std::int64_t begin = step_in_epoch * batch_.global_batch;
  return {begin, std::min(begin + batch_.global_batch, samples_)};
}

std::vector<data::Range> Geometry::micro_batches(std::int64_t step_in_epoch) const {
  const data::Range all = step(step_in_epoch);
  data::Range mine = data::share(all.size(), rank_, world_size_, min_samples_);
  mine.begin += all.begin;
  mine.end += all.begin;
  return data::micro_batches(mine, batch_.batch_per_rank, min_samples_);
}

}  // namespace kolo::train
