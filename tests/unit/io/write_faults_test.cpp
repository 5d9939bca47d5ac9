// Every system call by which a run puts a checkpoint on disk, made to fail or to be the last: afterwards the
// old checkpoint or the new one must be there, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "fixtures.hpp"
#include "kolo/io/run_directory.hpp"
#include "support/fault_points.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using config::Resume;
using kolo::test::TempDir;

Checkpoint checkpoint_of(std::int64_t step) {
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.progress["step"] = step;
  return checkpoint;
}

/// What a run does for a checkpoint, a metrics row and its end.
void save(RunDirectory& run, std::int64_t step) {
  const fs::path path = run.checkpoint_path(step);
  write_checkpoint(path, checkpoint_of(step));
  run.update_last(path);
  run.update_best(path);
  run.prune_old(1);
}

void start_and_save(const fs::path& directory, std::int64_t step) {
  RunDirectory run(directory, Resume::automatic);
  run.remove_stale_temporaries();
  MetricFiles metrics(directory, {"epoch", "loss"});
  metrics.rewrite({{"epoch", "loss"}, {{1, 0.5}}});
  metrics.append(std::vector<double>{2, 0.25});
  save(run, step);
  run.write_summary({.reason = "completed"});
}

/// 0: no fault came up; 1: an error was thrown as it should be; 2: something else was thrown; 3: killed.
int in_a_child(const std::function<void()>& work, int fault) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 2;
    try {
      work();
      code = kolo::test::passed() < fault ? 0 : 1;
    } catch (const CheckpointError&) {
      code = 1;
    } catch (const ConfigError&) {
      code = 1;  // the lock file cannot be made: an error of the start
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 3 : WEXITSTATUS(status);
}

std::vector<std::string> temporaries(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos)
      names.push_back(entry.path().filename().string());
  return names;
}

/// What the next start finds.
void require_old_or_new(const fs::path& directory, const std::string& fault) {
  RunDirectory run(directory, Resume::automatic);
  run.remove_stale_temporaries();
  EXPECT_EQ(temporaries(directory), std::vector<std::string>()) << fault;
  ASSERT_EQ(run.start(), Start::resumed) << fault;
  const NewestCheckpoint newest = run.read_newest();
  EXPECT_TRUE(newest.damaged.empty()) << fault;
  EXPECT_TRUE(newest.checkpoint == checkpoint_of(1) || newest.checkpoint == checkpoint_of(2)) << fault;
  for (const fs::path& link : {run.last_link(), run.best_link()})
    EXPECT_TRUE(fs::exists(link)) << fault;
}

class EveryCall : public testing::TestWithParam<const char*> {};

TEST_P(EveryCall, LeaveTheOldCheckpointOrTheNewOneWhole) {
  int hit = 0;
  for (int call = 1;; ++call) {
    const TempDir dir;
    start_and_save(dir / "run", 1);
    const std::string fault = "*:" + std::to_string(call) + ":" + GetParam();
    const int end = in_a_child(
        [&] {
          kolo::test::set_fault(fault);
          start_and_save(dir / "run", 2);
        },
        call);
    require_old_or_new(dir / "run", fault);
    EXPECT_NE(end, 2) << fault;
    if (end == 0) break;
    ++hit;
    EXPECT_EQ(end, GetParam() == std::string("KILL") ? 3 : 1) << fault;
  }
  EXPECT_GT(hit, 30);  // calls of one start with one checkpoint
}

INSTANTIATE_TEST_SUITE_P(Actions, EveryCall, testing::Values("KILL", "EIO", "ENOSPC", "EROFS"),
                         [](const auto& item) { return std::string(item.param); });

TEST(WriteFaults, AnInterruptedCallIsMadeAgain) {
  for (const char* call : {"write", "fsync"}) {
    const TempDir dir;
    kolo::test::set_fault(std::string(call) + ":1:EINTR");
    write_checkpoint(dir / "a.h5", checkpoint_of(1));
    kolo::test::set_fault("");
    EXPECT_EQ(read_checkpoint(dir / "a.h5"), checkpoint_of(1)) << call;
  }
}

}  // namespace
}  // namespace kolo::io::test
