// Which checkpoint of a resumed run is its best, when that has been lost, and which an older one would need.
#pragma once

#include <cstdint>
#include <functional>

#include "kolo/io/checkpoint.hpp"
#include "kolo/io/run_directory.hpp"

namespace kolo::app {

struct BestEpoch {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< 0: there is none
  double val_top1 = -1;
};

/// The first of the epochs with the highest val_top1 among those that ended by `last_step` and that `counts`
/// (a step) lets count.
BestEpoch best_epoch(const io::MetricTable& metrics, std::int64_t last_step,
                     const std::function<bool(std::int64_t step)>& counts);

/// Where the best checkpoint of the run is gone or damaged, `newest` calls another one the best: that of the
/// best epoch whose checkpoint is left, or none.  How long early stopping has waited stays as it was.  Warns.
void replace_lost_best(const io::RunDirectory& directory, io::Checkpoint& newest);

/// Whichever checkpoint a later start has to fall back to finds its best.
void keep_best_of_each(io::RunDirectory& directory, const io::Checkpoint& newest);

}  // namespace kolo::app
