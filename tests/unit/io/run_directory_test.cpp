#include "kolo/io/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
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

/// What an earlier run left in `path`.
enum class Earlier {
  no_directory,
  nothing,
  foreign_files,
  config_only,
  temporary_only,
  link_only,
  checkpoint
};

void leave(const fs::path& path, Earlier earlier) {
  if (earlier == Earlier::no_directory) return;
  fs::create_directories(path / "checkpoints");
  if (earlier == Earlier::foreign_files) write_file(path / "notes.md", "mine");
  if (earlier == Earlier::config_only) write_file(path / "config.ini", "");
  if (earlier == Earlier::temporary_only)
    write_file(path / "checkpoints/.step_000000001.h5.tmp-0123456789abcdef-0", "half");
  if (earlier == Earlier::link_only) fs::create_symlink("step_000000001.h5", path / "checkpoints/last.h5");
  if (earlier == Earlier::checkpoint) write_file(path / "checkpoints/step_000000001.h5", "");
}

/// "fresh", "resumed", or the exit code of the refusal.
std::string decision(Earlier earlier, Resume resume) {
  const TempDir dir;
  leave(dir / "run", earlier);
  try {
    const RunDirectory run(dir / "run", resume);
    EXPECT_TRUE(fs::is_directory(run.checkpoint_directory()));
    return run.start() == Start::fresh ? "fresh" : "resumed";
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code()));
  }
}

TEST(RunDirectory, StartsFreshResumesOrRefuses) {
  struct Row {
    Earlier earlier;
    std::string off, automatic, required;
  };
  const std::vector<Row> rows = {
      {Earlier::no_directory, "fresh", "fresh", "4"},   {Earlier::nothing, "fresh", "fresh", "4"},
      {Earlier::foreign_files, "fresh", "fresh", "4"},  {Earlier::config_only, "2", "fresh", "4"},
      {Earlier::temporary_only, "fresh", "fresh", "4"}, {Earlier::link_only, "2", "4", "4"},
      {Earlier::checkpoint, "2", "resumed", "resumed"}};
  for (const Row& row : rows) {
    const auto number = static_cast<int>(row.earlier);
    EXPECT_EQ(decision(row.earlier, Resume::off), row.off) << "off, earlier " << number;
    EXPECT_EQ(decision(row.earlier, Resume::automatic), row.automatic) << "auto, earlier " << number;
    EXPECT_EQ(decision(row.earlier, Resume::required), row.required) << "required, earlier " << number;
  }
}

TEST(RunDirectory, HintsAtResumeAndAtAnotherDirectory) {
  const TempDir dir;
  leave(dir / "run", Earlier::checkpoint);
  EXPECT_THAT(message_of<ConfigError>([&] { RunDirectory(dir / "run", Resume::off); }),
              AllOf(HasSubstr((dir / "run").string()), HasSubstr("--resume auto"), HasSubstr("--run-dir")));
}

TEST(RunDirectory, RequiredResumeCreatesNoDirectory) {
  const TempDir dir;
  EXPECT_THROW(RunDirectory(dir / "run", Resume::required), CheckpointError);
  EXPECT_FALSE(fs::exists(dir / "run"));
}

TEST(RunDirectory, RefusesWhatIsNotADirectory) {
  const TempDir dir;
  write_file(dir / "file", "");
  EXPECT_THAT(message_of<ConfigError>([&] { RunDirectory(dir / "file", Resume::off); }),
              HasSubstr("is not a directory"));
  EXPECT_THAT(message_of<ConfigError>([&] { RunDirectory(dir / "file/run", Resume::off); }),
              HasSubstr("file/run"));
  EXPECT_THROW(RunDirectory("", Resume::off), ConfigError);
}

TEST(RunDirectory, RefusesADirectoryThatCannotBeWritten) {
  // Permissions do not stop root; nobody creates files in /proc.
  EXPECT_THAT(message_of<ConfigError>([&] { RunDirectory("/proc", Resume::off); }),
              HasSubstr("cannot be written"));
  EXPECT_THAT(message_of<ConfigError>([&] { RunDirectory("/proc/kolo", Resume::off); }),
              HasSubstr("cannot be created"));
}

/// A process that holds the lock of `path` until it is killed.
class Holder {
 public:
  explicit Holder(const fs::path& path) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
    pid_ = fork();
    if (pid_ == 0) {
      const RunDirectory run(path, Resume::automatic);
      if (write(ends[1], "x", 1) == 1)
        while (true)
          pause();
      _exit(1);
    }
    char ready = 0;
    close(ends[1]);
    if (read(ends[0], &ready, 1) != 1) ADD_FAILURE() << "the holder did not get the lock";
    close(ends[0]);
  }
  ~Holder() { end(); }

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

TEST(RunDirectory, ALiveProcessKeepsOthersOutAndIsNamed) {
  const TempDir dir;
  const Holder holder(dir / "run");
  for (const Resume resume : {Resume::off, Resume::automatic})
    EXPECT_THAT(message_of<CommError>([&] { RunDirectory(dir / "run", resume); }),
                AllOf(HasSubstr("is in use by process " + std::to_string(holder.pid()) + " on "),
                      HasSubstr("--run-dir")));
}

TEST(RunDirectory, AKilledProcessFreesTheLock) {
  const TempDir dir;
  Holder holder(dir / "run");
  holder.end();
  EXPECT_NO_THROW(RunDirectory(dir / "run", Resume::automatic));
}

TEST(RunDirectory, TheLockEndsWithTheObject) {
  const TempDir dir;
  { const RunDirectory run(dir / "run", Resume::off); }
  EXPECT_NO_THROW(RunDirectory(dir / "run", Resume::off));
}

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

TEST(RunDirectory, AutoBeginsAnewOnlyWhereThereNeverWasACheckpoint) {
  const auto starting = [](const std::string& csv, const std::string& summary) -> std::string {
    const TempDir dir;
    std::filesystem::create_directory(dir / "run");
    write_file(dir / "run" / "config.ini", "");
    if (!csv.empty()) write_file(dir / "run" / "metrics.csv", csv);
    if (!summary.empty()) write_file(dir / "run" / "summary.json", summary);
    try {
      EXPECT_EQ(RunDirectory(dir / "run", config::Resume::automatic).start(), Start::fresh);
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "";
  };
  // A run that died before its first checkpoint, even after its first row.
  for (const char* csv : {"", "epoch,loss\n", "epoch,loss\n1,0.5\n"}) {
    EXPECT_EQ(starting(csv, ""), "") << csv;
    EXPECT_EQ(starting(csv, "{\"exit_code\": 1}"), "") << csv;
    EXPECT_EQ(starting(csv, "half of a {"), "") << csv;
  }
  EXPECT_THAT(starting("epoch,loss\n1,0.5\n2,0.4\n", ""), HasSubstr("metrics of 2 epochs but no checkpoint"));
  for (const char* code : {"0", "75"})
    EXPECT_THAT(starting("epoch,loss\n1,0.5\n", std::string("{\"exit_code\": ") + code + "}"),
                HasSubstr("a run that ended in order but no checkpoint"));
}

// When the first checkpoint comes is the deck's to say.
TEST(RunDirectory, AutoKnowsFromTheDeckWhenThereMustHaveBeenACheckpoint) {
  const auto begins_anew = [](const std::string& deck, int epochs) {
    const TempDir dir;
    std::filesystem::create_directory(dir / "run");
    write_file(dir / "run" / "config.ini", deck);
    std::string csv = "epoch,step,loss\n";
    for (int epoch = 1; epoch <= epochs; ++epoch)
      csv += std::to_string(epoch) + ',' + std::to_string(10 * epoch) + ",0.5\n";
    write_file(dir / "run" / "metrics.csv", csv);
    try {
      return RunDirectory(dir / "run", config::Resume::automatic).start() == Start::fresh;
    } catch (const CheckpointError&) {
      return false;
    }
  };
  const std::string rare = "[checkpoint]\nevery_epochs = 5\n", none = "[checkpoint]\nevery_epochs = 0\n";
  const std::string val = "[data]\nval_fraction = 0.1\n", steps = "every_steps = 25\n";
  EXPECT_TRUE(begins_anew(rare, 5));
  EXPECT_FALSE(begins_anew(rare, 6));
  EXPECT_TRUE(begins_anew(none, 100));
  EXPECT_TRUE(begins_anew(none + val, 1));
  EXPECT_FALSE(begins_anew(none + val, 2));
  EXPECT_TRUE(begins_anew(none + steps, 2));
  EXPECT_FALSE(begins_anew(none + steps, 3));
  EXPECT_FALSE(begins_anew("not a deck", 2));
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
