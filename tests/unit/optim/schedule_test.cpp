#include "kolo/optim/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kolo/util/error.hpp"

namespace kolo::optim {
namespace {

using config::OptimizerSection;
using config::ScaleLr;
using config::ScheduleName;
using config::ScheduleSection;

ScheduleSection section_of(ScheduleName name, double warmup_epochs = 0) {
  ScheduleSection section;
  section.name = name;
  section.warmup_epochs = warmup_epochs;
  return section;
}

constexpr std::int64_t kStepsPerEpoch = 7;
constexpr std::int64_t kTotalSteps = 70;

Schedule make(const ScheduleSection& section, double base_lr = 0.1) {
  return Schedule(section, base_lr, kStepsPerEpoch, kTotalSteps);
}

TEST(Schedule, ConstantIsTheBaseRateAtEveryStep) {
  const Schedule schedule = make(section_of(ScheduleName::constant));
  for (std::int64_t step = 0; step < kTotalSteps; ++step)
    EXPECT_EQ(schedule.lr(step), 0.1);
}

TEST(Schedule, WarmupRisesByEqualStepsAndEndsAtTheBaseRate) {
  for (const auto name :
       {ScheduleName::constant, ScheduleName::step, ScheduleName::multistep, ScheduleName::cosine}) {
    const Schedule schedule = make(section_of(name, 2));
    EXPECT_EQ(schedule.warmup_steps(), 14);
    for (std::int64_t step = 0; step < 14; ++step) {
      EXPECT_DOUBLE_EQ(schedule.lr(step), 0.1 * static_cast<double>(step + 1) / 14);
    }
    EXPECT_EQ(schedule.lr(13), 0.1);
    EXPECT_EQ(schedule.lr(14), 0.1);
  }
}

TEST(Schedule, FractionalWarmupRoundsToWholeSteps) {
  EXPECT_EQ(make(section_of(ScheduleName::constant, 0.5)).warmup_steps(), 4);
  EXPECT_EQ(make(section_of(ScheduleName::constant, 0.2)).warmup_steps(), 1);
  EXPECT_EQ(make(section_of(ScheduleName::constant, 0.05)).warmup_steps(), 0);
}

// StepLR.get_lr multiplies by gamma whenever last_epoch is a multiple of step_size.
TEST(Schedule, StepFollowsTheRecurrenceOfTorchsStepLr) {
  ScheduleSection section = section_of(ScheduleName::step);
  section.step_epochs = 3;
  section.gamma = 0.3;
  const Schedule schedule = make(section);
  double expected = 0.1;
  for (std::int64_t epoch = 0; epoch < kTotalSteps / kStepsPerEpoch; ++epoch) {
    if (epoch > 0 && epoch % section.step_epochs == 0) expected *= section.gamma;
    for (std::int64_t i = 0; i < kStepsPerEpoch; ++i) {
      EXPECT_DOUBLE_EQ(schedule.lr(epoch * kStepsPerEpoch + i), expected);
    }
  }
}

// MultiStepLR multiplies by gamma as often as the epoch stands in the list of milestones.
TEST(Schedule, MultistepFollowsTheRecurrenceOfTorchsMultiStepLr) {
  ScheduleSection section = section_of(ScheduleName::multistep);
  section.milestones = {2, 5, 5, 8};
  const Schedule schedule = make(section);
  double expected = 0.1;
  for (std::int64_t epoch = 0; epoch < kTotalSteps / kStepsPerEpoch; ++epoch) {
    for (const double milestone : section.milestones) {
      if (milestone == static_cast<double>(epoch)) expected *= section.gamma;
    }
    for (std::int64_t i = 0; i < kStepsPerEpoch; ++i) {
      EXPECT_DOUBLE_EQ(schedule.lr(epoch * kStepsPerEpoch + i), expected);
    }
  }
}

TEST(Schedule, FractionalMilestoneDropsWithinTheEpoch) {
  ScheduleSection section = section_of(ScheduleName::multistep);
  section.milestones = {1.5};
  const Schedule schedule = make(section);
  EXPECT_EQ(schedule.lr(10), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr(11), 0.01);
}

TEST(Schedule, MilestonesCountEpochsFromTheStartOfTheTrainingNotFromTheWarmup) {
  ScheduleSection section = section_of(ScheduleName::multistep, 3);
  section.milestones = {4};
  const Schedule schedule = make(section);
  EXPECT_EQ(schedule.lr(4 * kStepsPerEpoch - 1), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr(4 * kStepsPerEpoch), 0.01);
}

TEST(Schedule, CosineFollowsTheClosedFormOfTorchsCosineAnnealing) {
  ScheduleSection section = section_of(ScheduleName::cosine, 1);
  section.min_lr = 0.004;
  const Schedule schedule = make(section);
  const double length = kTotalSteps - kStepsPerEpoch;
  for (std::int64_t step = kStepsPerEpoch; step < kTotalSteps; ++step) {
    const double t = static_cast<double>(step - kStepsPerEpoch);
    EXPECT_NEAR(schedule.lr(step), 0.004 + 0.096 * (1 + std::cos(std::numbers::pi * t / length)) / 2, 1e-15);
  }
}

TEST(Schedule, CosineStartsAtTheBaseRateAndStaysAtTheMinimumAfterTheLastStep) {
  ScheduleSection section = section_of(ScheduleName::cosine);
  section.min_lr = 0.004;
  const Schedule schedule = make(section);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.1);
  EXPECT_GT(schedule.lr(kTotalSteps - 1), 0.004);
  EXPECT_EQ(schedule.lr(kTotalSteps), 0.004);
  EXPECT_EQ(schedule.lr(kTotalSteps + 1000), 0.004);
}

TEST(Schedule, WarmupLongerThanTheTrainingNeverLeavesTheWarmup) {
  const Schedule schedule(section_of(ScheduleName::cosine, 5), 0.1, 10, 20);
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_DOUBLE_EQ(schedule.lr(step), 0.1 * static_cast<double>(step + 1) / 50);
  }
}

TEST(Schedule, LengthsBelowOneAreRefused) {
  ScheduleSection section = section_of(ScheduleName::step);
  EXPECT_THROW(Schedule(section, 0.1, 0, 10), std::invalid_argument);
  EXPECT_THROW(Schedule(section, 0.1, 10, 0), std::invalid_argument);
  section.step_epochs = 0;
  EXPECT_THROW(Schedule(section, 0.1, 10, 10), std::invalid_argument);
}

TEST(ScaledLr, FollowsTheBatchAsTheDeckAsks) {
  OptimizerSection section;
  section.lr = 0.1;
  section.reference_batch = 256;
  EXPECT_EQ(scaled_lr(section, 1024), 0.1);
  section.scale_lr = ScaleLr::linear;
  EXPECT_DOUBLE_EQ(scaled_lr(section, 1024), 0.4);
  EXPECT_DOUBLE_EQ(scaled_lr(section, 64), 0.025);
  section.scale_lr = ScaleLr::sqrt;
  EXPECT_DOUBLE_EQ(scaled_lr(section, 1024), 0.2);
}

TEST(ScaledLr, WithoutReferenceBatchIsAConfigError) {
  OptimizerSection section;
  EXPECT_NO_THROW(scaled_lr(section, 32));
  section.scale_lr = ScaleLr::linear;
  EXPECT_THROW(scaled_lr(section, 32), ConfigError);
}

}  // namespace
}  // namespace kolo::optim
