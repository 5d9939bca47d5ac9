// Errors and numbers that are not finite, on one rank of many.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kolo/comm/agree.hpp"
#include "trainer_fixture.hpp"

namespace kolo::test {
namespace {

using config::Config;
using config::OptimizerName;

/// The training ends on all ranks with an error of divergence that says `what`.
void expect_divergence(Training& training, const std::string& what) {
  try {
    training.run();
    FAIL() << "an error was expected";
  } catch (const comm::AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::diverged);
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(Trainer, ErrorInOneRanksBackwardReachesAllRanks) {
  Config config = small_config();
  Training training(config, MPI_COMM_WORLD);
  const int culprit = training.world().size() - 1;
  if (training.world().rank() == culprit) {
    at::Tensor parameter = training.replica().network().parameters().front();
    parameter.register_hook([](const at::Tensor& gradient) -> at::Tensor {
      if (gradient.defined()) throw std::runtime_error("broken on purpose");
      return gradient;
    });
  }
  try {
    training.run();
    FAIL() << "an error was expected";
  } catch (const comm::AgreedError& error) {
    EXPECT_NE(std::string(error.what()).find("broken on purpose"), std::string::npos) << error.what();
    EXPECT_EQ(error.origin_rank, culprit);
  }
}

TEST(Trainer, NonFiniteGradientOnOneRankStopsAllWithItsName) {
  Config config = small_config();
  Training training(config, MPI_COMM_WORLD);
  if (training.world().rank() == training.world().size() - 1) {
    at::Tensor parameter = training.replica().network().parameters().front();
    parameter.register_hook([](const at::Tensor& gradient) { return gradient * std::nanf(""); });
  }
  expect_divergence(training, "step 1: the gradient of fc1.weight");
}

TEST(Trainer, WeightsThatTheLastUpdateMadeInfiniteEndTheRun) {
  Config config = small_config();
  config.optimizer.lr = 3e38;  // every gradient of the only step is finite
  config.train.max_steps = 1;
  Training training(config, MPI_COMM_WORLD);
  expect_divergence(training, "after step 1");
}

// Otherwise every resumed run would end the same way again, and the good checkpoints be gone.
TEST(Trainer, OfWeightsThatAreNotFiniteThereIsNoCheckpoint) {
  for (const config::OnNonfinite action : {config::OnNonfinite::stop, config::OnNonfinite::skip}) {
    Config config = small_config();
    config.schedule.name = config::ScheduleName::multistep;
    config.schedule.milestones = {1};
    config.schedule.gamma = 1e41;
    config.checkpoint.every_steps = 1;
    config.train.on_nonfinite = action;
    Training training(config, MPI_COMM_WORLD);
    const std::int64_t steps = training.geometry().steps_per_epoch();
    expect_divergence(training, "after step " + std::to_string(steps + 1) + ": fc1.weight is not finite");
    if (training.world().rank() == 0) {
      EXPECT_EQ(static_cast<std::int64_t>(training.recorder.checkpoints.size()), steps);
    }
  }
}

TEST(Trainer, AnEpochWithoutOneUpdateEndsTheRun) {
  Config config = small_config();
  config.train.on_nonfinite = config::OnNonfinite::skip;
  Training training(config, MPI_COMM_WORLD);
  at::Tensor parameter = training.replica().network().parameters().front();
  parameter.register_hook([](const at::Tensor& gradient) { return gradient * std::nanf(""); });
  expect_divergence(training, "epoch 1: not one of");
}

TEST(Trainer, SkipsNonFiniteStepsWhenAskedTo) {
  Config config = small_config();
  config.train.on_nonfinite = config::OnNonfinite::skip;
  config.train.epochs = 1;
  Training training(config, MPI_COMM_WORLD);
  int backwards = 0;
  if (training.world().rank() == 0) {
    at::Tensor parameter = training.replica().network().parameters().front();
    parameter.register_hook([&backwards](const at::Tensor& gradient) {
      return ++backwards == 2 ? gradient * std::nanf("") : gradient;
    });
  }
  const train::Outcome outcome = training.run();
  EXPECT_EQ(outcome.state.updates, outcome.state.step - 1);
  if (training.world().rank() == 0) {
    EXPECT_EQ(column(training.recorder.rows[0], "skipped_steps"), 1);
  }
  EXPECT_NO_THROW(training.replica().require_equal(training.world()));
}

TEST(Replica, UnequalWeightsAreNoticed) {
  Config config = small_config();
  config.comm.strategy = config::Strategy::allreduce;  // shared weights cannot differ
  Training training(config, MPI_COMM_WORLD);
  if (training.world().size() == 1) GTEST_SKIP() << "needs two ranks";
  if (training.world().rank() == 1) {
    const at::NoGradGuard no_grad;
    at::Tensor parameter = training.replica().network().parameters().front();
    parameter.view(-1)[3] += 1;
  }
  try {
    training.replica().require_equal(training.world());
    FAIL() << "an error was expected";
  } catch (const comm::AgreedError& error) {
    EXPECT_NE(std::string(error.what()).find("the model of rank 1 differs"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace kolo::test
