// Ends and stops at any place, and going on from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "trainer_fixture.hpp"

namespace kolo::test {
namespace {

using config::Config;
using config::OptimizerName;

TEST(Trainer, ResumesInMidEpochBitForBit) {
  Config config = small_config();
  config.optimizer.name = OptimizerName::adam;
  config.optimizer.lr = 0.002;
  config.model.dropout = 0.3;
  Training undisturbed(config, MPI_COMM_WORLD);
  undisturbed.run();

  Training stopped(config, MPI_COMM_WORLD);
  int polls = 0;
  const train::Outcome half = stopped.run(nullptr, [&polls] {
    train::StopFlags flags;
    flags.set(0, ++polls == 5);  // the first is before the first step
    return flags;
  });
  EXPECT_EQ(half.reason, train::EndReason::stopped);
  EXPECT_EQ(half.state.step, 4);
  Training resumed(config, MPI_COMM_WORLD);
  resumed.run(stopped.world().rank() == 0 ? &stopped.recorder.checkpoints.back() : nullptr);
  if (resumed.world().rank() != 0) return;
  const io::Checkpoint& ours = resumed.recorder.checkpoints.back();
  const io::Checkpoint& expected = undisturbed.recorder.checkpoints.back();
  EXPECT_EQ(ours.model, expected.model);
  EXPECT_EQ(ours.optimizer, expected.optimizer);
  for (const char* name : {"train_loss", "train_top1", "val_loss", "val_top1", "lr", "step"}) {
    EXPECT_EQ(column(ours.metrics.rows.at(0), name), column(expected.metrics.rows.at(0), name)) << name;
  }
}

TEST(Trainer, OneRanksStopFlagStopsAllAtTheSameStep) {
  Config config = small_config();
  Training training(config, MPI_COMM_WORLD);
  const bool culprit = training.world().rank() == training.world().size() - 1;
  int polls = 0;
  const train::Outcome outcome = training.run(nullptr, [&] {
    train::StopFlags flags;
    flags.set(1, culprit && ++polls == 4);  // the first is before the first step
    return flags;
  });
  EXPECT_EQ(outcome.state.step, 3);
  EXPECT_EQ(outcome.detail, "signal USR2");
}

TEST(Trainer, EndsAtMaxStepsInsideAnEpochAndCanGoOn) {
  Config config = small_config();
  config.train.max_steps = 5;
  Training cut(config, MPI_COMM_WORLD);
  EXPECT_EQ(cut.run().reason, train::EndReason::max_steps);
  config.train.max_steps = 0;
  Training undisturbed(config, MPI_COMM_WORLD);
  undisturbed.run();
  Training resumed(config, MPI_COMM_WORLD);
  resumed.run(cut.world().rank() == 0 ? &cut.recorder.checkpoints.back() : nullptr);
  if (resumed.world().rank() != 0) return;
  EXPECT_EQ(resumed.recorder.checkpoints.back().model, undisturbed.recorder.checkpoints.back().model);
  EXPECT_EQ(resumed.recorder.checkpoints.back().metrics.rows.size(), 2U);
}

TEST(Trainer, StopsEarlyAndTestsWithTheBestModel) {
  Config config = small_config();
  config.train.epochs = 30;
  config.train.early_stop_patience = 2;
  config.train.early_stop_min_delta = 0.5;  // only the first epoch counts as a gain
  Training training(config, MPI_COMM_WORLD);
  const train::Outcome outcome = training.run();
  EXPECT_EQ(outcome.reason, train::EndReason::early_stop);
  EXPECT_LE(outcome.state.epoch, 4);
  EXPECT_TRUE(outcome.test.has_value());
}

/// Adds to `seen`, a count a position of each epoch, what this rank computes in steps [from, to).
void count_positions(const train::Geometry& geometry, std::int64_t from, std::int64_t to,
                     std::vector<std::int64_t>& seen) {
  for (std::int64_t step = from; step < to; ++step) {
    const std::int64_t epoch = step / geometry.steps_per_epoch();
    for (const data::Range& range : geometry.micro_batches(step % geometry.steps_per_epoch()))
      for (std::int64_t i = range.begin; i < range.end; ++i)
        ++seen.at(static_cast<std::size_t>(epoch * geometry.samples_per_epoch() + i));
  }
}

// 1, 2, 3, 4, 2 ranks take turns, each going on from the checkpoint of those before, in mid-epoch.
TEST(Resume, OnOtherRankCountsComputesTheSameStepsAndEverySampleOnce) {
  Config config = small_config();
  config.run.dtype = config::Dtype::fp64;
  config.optimizer.name = OptimizerName::adam;
  config.optimizer.lr = 0.002;
  config.data.test_samples = 0;
  Training alone(config, MPI_COMM_SELF);
  alone.run();
  const std::int64_t epoch = alone.geometry().samples_per_epoch();
  const std::int64_t all_steps = config.train.epochs * alone.geometry().steps_per_epoch();

  comm::Communicator world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(config.train.epochs * epoch));
  std::vector<double> losses;
  io::Checkpoint last;
  const std::int64_t ends[] = {3, 8, 12, 17, all_steps};
  const int ranks[] = {1, 2, 3, 4, 2};
  std::int64_t from = 0;
  for (std::size_t leg = 0; leg < std::size(ends); from = ends[leg++]) {
    const bool takes_part = world.rank() < ranks[leg];
    comm::Communicator some = world.split(takes_part ? 0 : 1);
    if (takes_part) {
      config.train.max_steps = ends[leg];
      Training training(config, some.handle());
      training.run(from > 0 && some.rank() == 0 ? &last : nullptr);
      count_positions(training.geometry(), from, ends[leg], seen);
      if (some.rank() == 0) last = training.recorder.checkpoints.back();
      losses.insert(losses.end(), training.recorder.losses.begin(), training.recorder.losses.end());
    }
    some.close();
  }
  world.all_reduce(seen, comm::Op::sum);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen));
  if (world.rank() == 0) {
    ASSERT_EQ(losses.size(), alone.recorder.losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], alone.recorder.losses[i], 1e-10) << "step " << i;
  }
  world.close();
}

// The stop of an evaluation leaves the epoch's steps done and its row unmade.
TEST(Resume, AfterAStopDuringEvaluationBeginsWithTheEvaluation) {
  Config config = small_config();
  config.train.eval_batch = 7;
  Training undisturbed(config, MPI_COMM_WORLD);
  undisturbed.run();
  Training stopped(config, MPI_COMM_WORLD);
  const std::int64_t steps = stopped.geometry().steps_per_epoch();
  std::int64_t polls = 0;
  const train::Outcome half = stopped.run(nullptr, [&] {
    train::StopFlags flags;
    flags.set(0, ++polls == 1 + steps + 2);  // before the first step, each step, the second batch
    return flags;
  });
  EXPECT_EQ(half.reason, train::EndReason::stopped);
  EXPECT_EQ(half.state.step_in_epoch, steps);
  EXPECT_EQ(half.state.epoch, 0);
  Training resumed(config, MPI_COMM_WORLD);
  resumed.run(stopped.world().rank() == 0 ? &stopped.recorder.checkpoints.back() : nullptr);
  if (resumed.world().rank() != 0) return;
  EXPECT_TRUE(stopped.recorder.rows.empty());
  ASSERT_EQ(resumed.recorder.rows.size(), 2U);
  for (const char* name : {"train_loss", "val_loss", "val_top1", "step"})
    for (std::size_t row : {0, 1})
      EXPECT_EQ(column(resumed.recorder.rows[row], name), column(undisturbed.recorder.rows[row], name));
  EXPECT_EQ(resumed.recorder.checkpoints.back().model, undisturbed.recorder.checkpoints.back().model);
}

TEST(Resume, AStopBeforeTheFirstStepSavesTheBeginning) {
  const Config config = small_config();
  Training stopped(config, MPI_COMM_WORLD);
  const train::Outcome outcome = stopped.run(nullptr, [] { return train::StopFlags().set(2); });
  EXPECT_EQ(outcome.reason, train::EndReason::stopped);
  EXPECT_EQ(outcome.state.step, 0);
  if (stopped.world().rank() != 0) return;
  EXPECT_EQ(stopped.recorder.checkpoints.size(), 1U);
}

}  // namespace
}  // namespace kolo::test
