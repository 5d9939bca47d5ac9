#include "kolo/io/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "fixtures.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using config::Resume;
using kolo::test::read_file;
using kolo::test::TempDir;
using kolo::test::write_file;
using testing::AllOf;
using testing::HasSubstr;

Checkpoint at_step(std::int64_t step) {
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.progress["step"] = step;
  return checkpoint;
}

/// A run directory with whole checkpoints of these steps.
RunDirectory with_steps(const fs::path& path, const std::vector<std::int64_t>& steps) {
  RunDirectory run(path, Resume::automatic);
  for (const std::int64_t step : steps)
    write_checkpoint(run.checkpoint_path(step), at_step(step));
  return run;
}

std::vector<std::string> names(const std::vector<fs::path>& paths) {
  std::vector<std::string> result;
  for (const fs::path& path : paths)
    result.push_back(path.filename().string());
  return result;
}

TEST(RunDirectory, ListsCheckpointsNewestFirst) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {9, 100, 10});
  for (const char* other :
       {"step_1.h5", "step_00000000x.h5", "step_-00000001.h5", "step_000000001.h5.bak", "last.h5"})
    write_file(run.checkpoint_directory() / other, "");
  write_file(run.checkpoint_path(12'345'678'901), "");
  EXPECT_EQ(names(run.checkpoints()), (std::vector<std::string>{"step_12345678901.h5", "step_000000100.h5",
                                                                "step_000000010.h5", "step_000000009.h5"}));
}

TEST(RunDirectory, ReadsTheNewestCheckpoint) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 3, 2});
  const NewestCheckpoint newest = run.read_newest();
  EXPECT_EQ(newest.path, run.checkpoint_path(3));
  EXPECT_EQ(newest.checkpoint, at_step(3));
  EXPECT_TRUE(newest.damaged.empty());
}

TEST(RunDirectory, PassesOverDamagedCheckpointsAndSaysSo) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2, 3});
  fs::resize_file(run.checkpoint_path(3), 2000);
  write_file(run.checkpoint_path(2), "");
  const NewestCheckpoint newest = run.read_newest();
  EXPECT_EQ(newest.path, run.checkpoint_path(1));
  ASSERT_EQ(newest.damaged.size(), 2U);
  EXPECT_THAT(newest.damaged[0], HasSubstr("step_000000003.h5"));
  EXPECT_THAT(newest.damaged[1], HasSubstr("step_000000002.h5"));
}

// Otherwise it would be the newest at every start.
TEST(RunDirectory, PassesOverACheckpointWithTheNameOfAnotherStep) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2});
  fs::copy_file(run.checkpoint_path(1), run.checkpoint_path(900));
  const NewestCheckpoint newest = run.read_newest();
  EXPECT_EQ(newest.path, run.checkpoint_path(2));
  ASSERT_EQ(newest.damaged.size(), 1U);
  EXPECT_THAT(newest.damaged[0], AllOf(HasSubstr("step_000000900.h5"), HasSubstr("holds step 1")));
}

TEST(RunDirectory, NamesOfStepsAreReadBack) {
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{17}, std::int64_t{12'345'678'901}})
    EXPECT_EQ(checkpoint_step(checkpoint_name(step)), step);
  for (const char* other : {"", "step_", "step_1.h5", "step_0000000017.h5", "step_-00000001.h5",
                            "step_00000000x.h5", "step_000000001.h5.bak", "step_99999999999999999999.h5"})
    EXPECT_EQ(checkpoint_step(other), std::nullopt) << other;
}

TEST(RunDirectory, StoredDeckIsThatOfTheNewestWholeCheckpoint) {
  const TempDir dir;
  EXPECT_EQ(stored_deck(dir / "run"), std::nullopt);
  RunDirectory run = with_steps(dir / "run", {1, 2});
  EXPECT_EQ(stored_deck(dir / "run"), at_step(2).config);
  Checkpoint other = at_step(1);
  other.config = "[run]\nseed = 8\n";
  write_checkpoint(run.checkpoint_path(1), other);
  write_file(run.checkpoint_path(2), "x");
  EXPECT_EQ(stored_deck(dir / "run"), other.config);
}

TEST(RunDirectory, RefusesWhenEveryCheckpointIsDamaged) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2});
  for (const std::int64_t step : {1, 2})
    write_file(run.checkpoint_path(step), "x");
  EXPECT_THAT(
      message_of<CheckpointError>([&] { run.read_newest(); }),
      AllOf(HasSubstr("none of the 2"), HasSubstr("step_000000001.h5"), HasSubstr("step_000000002.h5")));
}

TEST(RunDirectory, LinksAreRelativeSoThatTheDirectoryMayMove) {
  const TempDir dir;
  {
    RunDirectory run = with_steps(dir / "run", {1, 2});
    run.update_last(run.checkpoint_path(2));
    run.update_best(run.checkpoint_path(1));
  }
  fs::rename(dir / "run", dir / "moved");
  EXPECT_EQ(read_checkpoint(dir / "moved/checkpoints/last.h5"), at_step(2));
  EXPECT_EQ(read_checkpoint(dir / "moved/checkpoints/best.h5"), at_step(1));
}

TEST(RunDirectory, PruningKeepsTheNewestTheBestAndTheLast) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2, 3, 4, 5, 6});
  run.update_best(run.checkpoint_path(2));
  run.update_last(run.checkpoint_path(3));
  run.prune_old(2);
  EXPECT_EQ(names(run.checkpoints()), (std::vector<std::string>{"step_000000006.h5", "step_000000005.h5",
                                                                "step_000000003.h5", "step_000000002.h5"}));
}

// Whichever of the kept ones a run has to go on from finds its best.
TEST(RunDirectory, PruningKeepsTheBestOfEachThatIsKept) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2, 3, 4});
  run.update_best(run.checkpoint_path(2));
  run.keep_best_of(run.checkpoint_path(3), run.checkpoint_path(2));
  run.update_best(run.checkpoint_path(4));
  run.keep_best_of(run.checkpoint_path(4), *run.best());
  run.prune_old(2);
  EXPECT_EQ(names(run.checkpoints()),
            (std::vector<std::string>{"step_000000004.h5", "step_000000003.h5", "step_000000002.h5"}));
  run.prune_old(1);
  EXPECT_EQ(names(run.checkpoints()), std::vector<std::string>{"step_000000004.h5"});
}

TEST(RunDirectory, PruningNeverRemovesTheNewest) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2});
  run.prune_old(0);
  EXPECT_EQ(names(run.checkpoints()), std::vector<std::string>{"step_000000002.h5"});
}

TEST(RunDirectory, PruningDoesNotCountDamagedCheckpoints) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1, 2, 9});
  write_file(run.checkpoint_path(9), "x");
  run.read_newest();
  run.prune_old(1);
  EXPECT_EQ(names(run.checkpoints()), (std::vector<std::string>{"step_000000009.h5", "step_000000002.h5"}));
}

TEST(RunDirectory, TemporaryFilesOfDeadProcessesAreRemoved) {
  const TempDir dir;
  RunDirectory run = with_steps(dir / "run", {1});
  write_file(run.path() / ".summary.json.tmp-0123456789abcdef-1", "half");
  write_file(run.checkpoint_directory() / ".step_000000002.h5.tmp-0123456789abcdef-0", "half");
  run.remove_stale_temporaries();
  EXPECT_EQ(names_in(run.path()), (std::vector<std::string>{".lock", "checkpoints"}));
  EXPECT_EQ(names_in(run.checkpoint_directory()), std::vector<std::string>{"step_000000001.h5"});
}

TEST(RunDirectory, AStopFileIsARequestUntilRemoved) {
  const TempDir dir;
  RunDirectory run(dir / "run", Resume::off);
  EXPECT_FALSE(run.stop_requested());
  write_file(run.path() / "STOP", "");
  EXPECT_TRUE(run.stop_requested());
  run.remove_stop_file();
  run.remove_stop_file();
  EXPECT_FALSE(run.stop_requested());
}

TEST(RunDirectory, TheSummaryHasEveryKeyAndNullsForWhatIsAbsent) {
  const TempDir dir;
  const RunDirectory run(dir / "run", Resume::off);
  run.write_summary({.reason = "finished \"10\" epochs\xff",
                     .exit_code = 0,
                     .epochs = 10,
                     .best_val_top1 = 0.1,
                     .samples_per_s = std::nan(""),
                     .parameters = 2'122'186});
  const auto json = nlohmann::ordered_json::parse(read_file(run.summary_path()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items())
    keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"reason", "exit_code", "epochs", "best_epoch", "best_val_top1",
                                            "test_top1", "test_loss", "samples_per_s", "parameters"}));
  EXPECT_EQ(json["epochs"], 10);
  EXPECT_EQ(json["best_val_top1"], 0.1);
  EXPECT_EQ(json["parameters"], 2'122'186);
  for (const char* absent : {"best_epoch", "test_top1", "test_loss", "samples_per_s"})
    EXPECT_TRUE(json[absent].is_null()) << absent;
}

}  // namespace
}  // namespace kolo::io::test
