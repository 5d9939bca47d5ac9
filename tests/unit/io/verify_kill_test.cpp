#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "kolo/io/run_directory.hpp"
#include "verify_fixtures.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using kolo::test::TempDir;

/// What a run does to its directory, epoch after epoch, until it is killed.
[[noreturn]] void train_for_ever(const fs::path& path) {
  RunDirectory directory(path, config::Resume::automatic);
  MetricTable table = rows_until(0);
  if (directory.start() == Start::resumed) {
    const Checkpoint newest = directory.read_newest().checkpoint;
    const fs::path best = directory.checkpoint_path(std::get<std::int64_t>(newest.progress.at("best_step")));
    if (fs::exists(best)) directory.update_best(best);
    table = newest.metrics;
  }
  write_atomically(directory.config_path(), config::effective_deck({}));
  MetricFiles metrics(path, table.columns);
  metrics.rewrite(table);
  for (int epoch = static_cast<int>(table.rows.size()) + 1;; ++epoch) {
    const MetricTable rows = rows_until(epoch);
    metrics.append(rows.rows.back());
    const std::int64_t best = 10 * (epoch - epoch % 3);
    const fs::path checkpoint = directory.checkpoint_path(10 * epoch);
    write_checkpoint(checkpoint, checkpoint_of(10 * epoch, best, rows));
    directory.update_last(checkpoint);
    if (epoch % 3 == 0) directory.update_best(checkpoint);
    directory.prune_old(2);
  }
}

pid_t start_training(const fs::path& path) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    train_for_ever(path);
  } catch (...) {
    _exit(1);
  }
}

void require_undamaged(const fs::path& run) {
  if (!fs::exists(run / "config.ini")) return;
  for (const FileVerdict& file : verify_run(run).files)
    EXPECT_NE(file.state, FileState::damaged) << file.name << ": " << file.what;
}

std::string last_checkpoint(const fs::path& run) {
  std::error_code none;
  return fs::read_symlink(run / "checkpoints/last.h5", none).string();
}

/// Or a minute has passed.
void wait_for_checkpoint(const fs::path& run, const std::string& before) {
  for (int i = 0; i < 60'000 && last_checkpoint(run) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Verify, ARunIsNotDamagedWhileItLivesNorWhenItIsKilled) {
  const TempDir dir;
  for (int kills = 1; kills <= 24; ++kills) {
    const std::string before = last_checkpoint(dir / "run");
    const pid_t child = start_training(dir / "run");
    ASSERT_GT(child, 0);
    if (kills % 2 == 0) wait_for_checkpoint(dir / "run", before);  // else it dies while it starts
    std::this_thread::sleep_for(std::chrono::microseconds(1'300) * kills);
    require_undamaged(dir / "run");
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the run ended by itself";
    require_undamaged(dir / "run");
  }
  EXPECT_TRUE(verify_run(dir / "run").resume);
}

}  // namespace
}  // namespace kolo::io::test
