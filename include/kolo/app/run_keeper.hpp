// Puts a trainer's checkpoints and metrics into the run directory, on a thread of its own.
#pragma once

#include <atomic>
#include <functional>

#include "kolo/io/metrics.hpp"
#include "kolo/io/run_directory.hpp"
#include "kolo/train/trainer.hpp"
#include "kolo/util/worker_thread.hpp"

namespace kolo::app {

/// Of the checkpoints written by this start.
struct KeeperTotals {
  std::int64_t checkpoints = 0;
  double bytes = 0;
  double seconds = 0;          ///< building and writing, in the background
  double longest_seconds = 0;  ///< of one
};

class RunKeeper final : public train::Keeper {
 public:
  /// Starts the metric files with `table` (empty for a new run): rows that a resumed run will make again are
  /// gone.  `alive` is called from the background now and then while something is being written.
  RunKeeper(io::RunDirectory& directory, std::int64_t keep, const io::MetricTable& table,
            std::function<void()> alive);

  void save(std::function<io::CheckpointView()> make, std::int64_t step, bool is_best) override;
  void add_row(const std::vector<double>& row) override;
  void mark_best(std::int64_t step) override;
  io::Checkpoint load_best(std::int64_t step) override;
  void check() override { worker_.check(); }
  void wait() override { worker_.wait(); }

  /// After wait().
  const KeeperTotals& totals() const { return totals_; }
  /// How long a checkpoint takes, at most, by what was seen so far; any time.
  double longest_save_seconds() const { return longest_seconds_.load(std::memory_order_relaxed); }

 private:
  void write(const io::CheckpointView& view, std::int64_t step, bool is_best);

  io::RunDirectory& directory_;
  std::int64_t keep_;
  std::function<void()> alive_;
  io::MetricFiles metrics_;  // these two: the worker's
  KeeperTotals totals_;
  std::atomic<double> longest_seconds_ = 0;
  util::WorkerThread worker_;  // last: it uses all of the above
};

}  // namespace kolo::app
