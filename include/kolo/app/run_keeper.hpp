// Puts a trainer's checkpoints and metrics into the run directory.
#pragma once

#include "kolo/io/metrics.hpp"
#include "kolo/io/run_directory.hpp"
#include "kolo/train/trainer.hpp"

namespace kolo::app {

class RunKeeper final : public train::Keeper {
 public:
  /// Starts the metric files with `table` (empty for a new run): rows that a resumed run will make again are
  /// gone.
  RunKeeper(io::RunDirectory& directory, std::int64_t keep, const io::MetricTable& table);

  void save(const io::Checkpoint& checkpoint, std::int64_t step, bool is_best) override;
  void add_row(const std::vector<double>& row) override;
  void mark_best(std::int64_t step) override;
  io::Checkpoint load_best(std::int64_t step) override;

 private:
  io::RunDirectory& directory_;
  std::int64_t keep_;
  io::MetricFiles metrics_;
};

}  // namespace kolo::app
