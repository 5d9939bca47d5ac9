// When checkpoints are written, and which of them is called the best.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "trainer_fixture.hpp"

namespace kolo::test {
namespace {

struct Saved {
  std::vector<std::int64_t> epochs;       ///< completed, of the checkpoints that end one
  std::vector<std::int64_t> best_epochs;  ///< as each of these says
  std::int64_t inside_an_epoch = 0;
};

Saved saved_by(const config::Config& config, std::vector<std::vector<double>>* rows = nullptr) {
  Training training(config, MPI_COMM_WORLD);
  training.run();
  if (rows != nullptr) *rows = training.recorder.rows;
  const std::int64_t steps = training.geometry().steps_per_epoch();
  Saved saved;
  for (const io::Checkpoint& checkpoint : training.recorder.checkpoints) {
    const train::RunState state = train::load_state(checkpoint.progress);
    EXPECT_EQ(state.step, state.epoch * steps + state.step_in_epoch);
    if (state.step_in_epoch != 0) {
      ++saved.inside_an_epoch;
      continue;
    }
    saved.epochs.push_back(state.epoch);
    saved.best_epochs.push_back(state.best_epoch);
    EXPECT_EQ(state.best_step, state.best_epoch * steps);
  }
  return saved;
}

std::int64_t steps_per_epoch(const config::Config& config) {
  return Training(config, MPI_COMM_WORLD).geometry().steps_per_epoch();
}

bool is_root() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

config::Config five_epochs() {
  config::Config config = small_config();
  config.train.epochs = 5;
  config.checkpoint.every_epochs = 0;
  return config;
}

using Epochs = std::vector<std::int64_t>;

// Nothing to choose by: only what the deck asks for and the end.
TEST(CheckpointSchedule, WithoutValidationOnlyWhatIsAskedForIsWritten) {
  config::Config config = five_epochs();
  config.data.val_fraction = 0;
  config.checkpoint.every_epochs = 2;
  const Saved saved = saved_by(config);
  if (!is_root()) return;
  EXPECT_EQ(saved.epochs, (Epochs{2, 4, 5}));
  EXPECT_EQ(saved.best_epochs, saved.epochs);
  EXPECT_EQ(saved.inside_an_epoch, 0);
}

TEST(CheckpointSchedule, WithNothingAskedForTheEndIsWritten) {
  config::Config config = five_epochs();
  config.data.val_fraction = 0;
  const Saved saved = saved_by(config);
  if (!is_root()) return;
  EXPECT_EQ(saved.epochs, (Epochs{5}));
}

// A step that ends an epoch is a step like any other.
TEST(CheckpointSchedule, StepsCountAtTheEndOfAnEpochToo) {
  config::Config config = five_epochs();
  config.data.val_fraction = 0;
  const std::int64_t steps = steps_per_epoch(config);
  config.checkpoint.every_steps = 2 * steps;
  const Saved whole = saved_by(config);
  ASSERT_EQ(steps % 2, 1) << "so that half of the multiples are inside an epoch";
  config.checkpoint.every_steps = (steps + 1) / 2;
  config.train.epochs = static_cast<std::int64_t>(config.checkpoint.every_steps);
  const Saved parts = saved_by(config);
  if (!is_root()) return;
  EXPECT_EQ(whole.epochs, (Epochs{2, 4, 5}));
  EXPECT_EQ(whole.inside_an_epoch, 0);
  // steps and every_steps have no common factor: only the last epoch ends on a multiple.
  EXPECT_EQ(parts.epochs, (Epochs{config.train.epochs}));
  EXPECT_EQ(parts.inside_an_epoch, steps - 1);
}

TEST(CheckpointSchedule, WithValidationEveryNewBestIsWritten) {
  const config::Config config = five_epochs();
  std::vector<std::vector<double>> rows;
  const Saved saved = saved_by(config, &rows);
  if (!is_root()) return;
  Epochs expected;
  double best = -1;
  for (const std::vector<double>& row : rows) {
    const bool better = column(row, "val_top1") > best;
    if (better) best = column(row, "val_top1");
    if (better || row == rows.back()) expected.push_back(static_cast<std::int64_t>(column(row, "epoch")));
  }
  EXPECT_EQ(saved.epochs, expected);
  EXPECT_GT(expected.size(), 1U) << "nothing was learned";
}

}  // namespace
}  // namespace kolo::test
