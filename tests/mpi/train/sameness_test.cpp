// The same mathematics for any number of ranks, against one-rank runs and a plain libtorch loop.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <tuple>

#include "kolo/comm/agree.hpp"
#include "kolo/data/assemble.hpp"
#include "kolo/data/order.hpp"
#include "trainer_fixture.hpp"

namespace kolo::test {
namespace {

using config::Config;
using config::OptimizerName;

// Every rank trains alone on a communicator of one: the oracle for the whole world.
std::vector<double> losses_of_one_rank(const Config& config) {
  Training alone(config, MPI_COMM_SELF);
  alone.run();
  return alone.recorder.losses;
}

void expect_equal_losses(const std::vector<double>& ours, const std::vector<double>& expected,
                         double tolerance) {
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i], expected[i], tolerance) << "step " << i;
}

class Sameness : public testing::TestWithParam<std::tuple<OptimizerName, config::Strategy>> {};
INSTANTIATE_TEST_SUITE_P(
    EveryOptimizerAndStrategy, Sameness,
    testing::Combine(testing::Values(OptimizerName::sgd, OptimizerName::adam, OptimizerName::adamw),
                     testing::Values(config::Strategy::shared, config::Strategy::allreduce)));

TEST_P(Sameness, OfLossesForAnyNumberOfRanks) {
  const auto [optimizer, strategy] = GetParam();
  Config config = small_config();
  config.run.dtype = config::Dtype::fp64;
  config.comm.strategy = strategy;
  config.optimizer.name = optimizer;
  config.optimizer.lr = optimizer == OptimizerName::sgd ? 0.05 : 0.002;
  config.optimizer.weight_decay = 0.01;
  Training together(config, MPI_COMM_WORLD);
  const train::Outcome outcome = together.run();
  const std::vector<double> expected = losses_of_one_rank(config);
  if (together.world().rank() == 0) expect_equal_losses(together.recorder.losses, expected, 1e-10);
  EXPECT_EQ(outcome.reason, train::EndReason::completed);
}

TEST_P(Sameness, WithAccumulationAndClipping) {
  Config config = small_config();
  std::tie(config.optimizer.name, config.comm.strategy) = GetParam();
  config.run.dtype = config::Dtype::fp64;
  config.train.clip_norm = 0.3;
  const std::vector<double> expected = losses_of_one_rank(config);
  config.train.batch_per_rank = 7;  // several passes a step on any rank count here
  Training together(config, MPI_COMM_WORLD);
  together.run();
  if (together.world().rank() == 0) expect_equal_losses(together.recorder.losses, expected, 1e-10);
}

TEST(SamenessInFp32, HoldsForSgdOverAnEpoch) {
  const Config config = small_config();
  Training together(config, MPI_COMM_WORLD);
  together.run();
  Training alone(config, MPI_COMM_SELF);
  alone.run();
  if (together.world().rank() != 0) return;
  for (std::size_t epoch = 0; epoch < together.recorder.rows.size(); ++epoch) {
    EXPECT_NEAR(column(together.recorder.rows[epoch], "train_loss"),
                column(alone.recorder.rows[epoch], "train_loss"), 1e-4);
  }
}

TEST(Evaluation, CountsAreIdenticalIntegers) {
  Config config = small_config();
  config.run.dtype = config::Dtype::fp64;
  Training together(config, MPI_COMM_WORLD);
  const train::Outcome ours = together.run();
  Training alone(config, MPI_COMM_SELF);
  const train::Outcome expected = alone.run();
  ASSERT_TRUE(ours.test && expected.test);
  EXPECT_EQ(ours.test->top1, expected.test->top1);
  EXPECT_EQ(ours.test->top5, expected.test->top5);
  EXPECT_EQ(ours.test->samples, 203);
}

TEST_P(Sameness, WhenTheLastStepHasFewerSamplesThanRanks) {
  Config config = small_config();
  std::tie(config.optimizer.name, config.comm.strategy) = GetParam();
  config.run.dtype = config::Dtype::fp64;
  config.data.val_fraction = 0;
  config.data.samples = 97;  // the second step has one sample
  config.train.global_batch = 96;
  Training together(config, MPI_COMM_WORLD);
  together.run();
  const std::vector<double> expected = losses_of_one_rank(config);
  if (together.world().rank() == 0) expect_equal_losses(together.recorder.losses, expected, 1e-10);
}

TEST(BatchNorm, RunningStatisticsAreEqualOnAllRanks) {
  Config config = small_config();
  config.model.name = "resnet18";
  config.model.stem = config::Stem::cifar;
  config.data.channels = 3;
  config.data.height = config.data.width = 8;
  config.data.samples = 33;  // a last step of one sample, which batch norm leaves out
  config.data.val_fraction = 0;
  config.data.test_samples = 8;
  config.train.global_batch = 16;
  config.train.epochs = 1;
  Training together(config, MPI_COMM_WORLD);
  const train::Outcome outcome = together.run();
  EXPECT_NO_THROW(together.replica().require_equal(together.world()));
  EXPECT_EQ(outcome.state.step, 2);
  // Of what the layers saw: 32 of the 33 samples.
  EXPECT_EQ(together.geometry().skipped_tail(), 1);
}

TEST(Trainer, EqualsAPlainLibtorchLoopStepByStep) {
  Config config = small_config();
  config.data.val_fraction = 0;
  config.optimizer.name = OptimizerName::adam;
  config.optimizer.lr = 0.002;
  config.optimizer.weight_decay = 0.01;
  Training ours(config, MPI_COMM_SELF);
  ours.run();

  auto network = initial_network(config, ours.data().train);
  torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(0.002).weight_decay(0.01));
  const data::Dataset& set = ours.data().train;
  const data::Assembler assembler(set, {}, 1);
  std::vector<double> expected;
  for (std::int64_t epoch = 0; epoch < config.train.epochs; ++epoch) {
    const data::EpochOrder order(set.size(), 1, epoch, data::Shuffle::on);
    for (std::int64_t begin = 0; begin < set.size(); begin += 96) {
      const std::int64_t count = std::min<std::int64_t>(96, set.size() - begin);
      std::vector<std::int64_t> samples, labels;
      for (std::int64_t i = begin; i < begin + count; ++i) {
        samples.push_back(order[i]);
        labels.push_back(set.label(order[i]));
      }
      std::vector<float> pixels(static_cast<std::size_t>(count * set.shape().numel()));
      assembler.assemble(samples, epoch, data::Augment::off, std::span(pixels));
      const at::Tensor images = at::from_blob(pixels.data(), {count, 1, 6, 6}, at::kFloat);
      const at::Tensor targets = at::from_blob(labels.data(), {count}, at::kLong);
      optimizer.zero_grad();
      const at::Tensor loss = at::cross_entropy_loss(network->forward(images), targets);
      loss.backward();
      optimizer.step();
      expected.push_back(loss.item<double>());
    }
  }
  expect_equal_losses(ours.recorder.losses, expected, 2e-6);
}

}  // namespace
}  // namespace kolo::test
