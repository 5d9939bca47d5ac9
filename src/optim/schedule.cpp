#include "kolo/optim/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kolo/util/error.hpp"

namespace kolo::optim {
namespace {

std::int64_t to_steps(double epochs, std::int64_t steps_per_epoch) {
  return std::llround(epochs * static_cast<double>(steps_per_epoch));
}

}  // namespace

Schedule::Schedule(const config::ScheduleSection& section, double base_lr, std::int64_t steps_per_epoch,
                   std::int64_t total_steps)
    : name_(section.name),
      base_lr_(base_lr),
      gamma_(section.gamma),
      min_lr_(section.min_lr),
      step_length_(section.step_epochs * steps_per_epoch),
      warmup_steps_(to_steps(section.warmup_epochs, steps_per_epoch)),
      total_steps_(total_steps) {
  if (steps_per_epoch < 1 || total_steps < 1 || section.step_epochs < 1) {
    throw std::invalid_argument(fmt::format(
        "schedule with {} steps an epoch, {} in all, {} epochs between drops: expected at least 1 of each",
        steps_per_epoch, total_steps, section.step_epochs));
  }
  for (const double epochs : section.milestones)
    milestones_.push_back(to_steps(epochs, steps_per_epoch));
}

double Schedule::lr(std::int64_t step) const {
  if (step < warmup_steps_)
    return base_lr_ * static_cast<double>(step + 1) / static_cast<double>(warmup_steps_);
  switch (name_) {
    case config::ScheduleName::constant:
      return base_lr_;
    case config::ScheduleName::step:
      return base_lr_ * std::pow(gamma_, static_cast<double>(step / step_length_));
    case config::ScheduleName::multistep: {
      const auto passed =
          std::count_if(milestones_.begin(), milestones_.end(), [&](auto m) { return m <= step; });
      return base_lr_ * std::pow(gamma_, static_cast<double>(passed));
    }
    case config::ScheduleName::cosine:
      return cosine(step);
  }
  throw std::invalid_argument("schedule name out of range");
}

double Schedule::cosine(std::int64_t step) const {
  if (step >= total_steps_) return min_lr_;
  const double progress =
      static_cast<double>(step - warmup_steps_) / static_cast<double>(total_steps_ - warmup_steps_);
  return min_lr_ + (base_lr_ - min_lr_) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

double scaled_lr(const config::OptimizerSection& section, std::int64_t global_batch) {
  if (section.scale_lr == config::ScaleLr::none) return section.lr;
  if (section.reference_batch < 1) {
    throw ConfigError(
        fmt::format(
            "optimizer.reference_batch = {}: optimizer.scale_lr needs a reference batch of at least 1",
            section.reference_batch),
        "set it to the global batch that optimizer.lr was chosen for");
  }
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(section.reference_batch);
  return section.lr * (section.scale_lr == config::ScaleLr::sqrt ? std::sqrt(ratio) : ratio);
}

}  // namespace kolo::optim
