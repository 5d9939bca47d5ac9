// The learning rate as a pure function of the step.
//
// No hidden counter: a resumed run, a rank that joins late and a plot of the whole schedule all ask lr(step).
// Steps count updates from the start of the training, so lengths given in epochs (warm-up, milestones) mean
// the same number of samples for any number of ranks.
//
// Warm-up: base x (step + 1) / warm-up steps (Goyal et al., arXiv:1706.02677).  After it:
//   constant   base
//   step       base x gamma^(epoch / step_epochs)              torch.optim.lr_scheduler.StepLR
//   multistep  base x gamma^(milestones passed)                torch.optim.lr_scheduler.MultiStepLR
//   cosine     from base down to min_lr over the steps after the warm-up, which it reaches when they are done
//              (Loshchilov and Hutter, arXiv:1608.03983; torch.optim.lr_scheduler.CosineAnnealingLR)
#pragma once

#include <cstdint>
#include <vector>

#include "kolo/config/config.hpp"

namespace kolo::optim {

class Schedule {
 public:
  /// `base_lr`: after scaling (scaled_lr).  `total_steps`: updates in the whole training.
  /// Throws std::invalid_argument unless steps_per_epoch and total_steps are at least 1.
  Schedule(const config::ScheduleSection& section, double base_lr, std::int64_t steps_per_epoch,
           std::int64_t total_steps);

  /// For the update numbered `step`, from 0.  Past the end of the training the cosine stays at min_lr.
  double lr(std::int64_t step) const;

  std::int64_t warmup_steps() const { return warmup_steps_; }

 private:
  double cosine(std::int64_t step) const;

  config::ScheduleName name_;
  double base_lr_;
  double gamma_;
  double min_lr_;
  std::int64_t step_length_;  ///< steps between two drops of the step schedule
  std::int64_t warmup_steps_;
  std::int64_t total_steps_;
  std::vector<std::int64_t> milestones_;  ///< first step after each milestone
};

/// optimizer.lr scaled by `global_batch` / optimizer.reference_batch, or by the root of that
/// (optimizer.scale_lr). Throws ConfigError when it is to be scaled and there is no reference batch.
double scaled_lr(const config::OptimizerSection& section, std::int64_t global_batch);

}  // namespace kolo::optim
