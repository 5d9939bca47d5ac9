// How a run directory's contents, and a process that works in it, decide what a start may do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fixtures.hpp"
#include "kolo/io/run_directory.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using config::Resume;
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

}  // namespace
}  // namespace kolo::io::test
