// What rank 0 shows while it trains: a live bar on a terminal, plain lines elsewhere.
#pragma once

#include <memory>
#include <string>

#include "kolo/comm/launch.hpp"
#include "kolo/config/config.hpp"
#include "kolo/train/geometry.hpp"
#include "kolo/train/trainer.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {

/// run.progress with `automatic` decided.  Under mpirun, isatty(1) is true in every rank even when mpirun's
/// output goes to a file; so a bar needs rank 0 on a terminal of its own, or a parent mpirun whose own output
/// is a terminal.
config::Progress choose_progress(config::Progress asked, const comm::LaunchEnvironment& launch);

class ProgressPrinter final : public train::Observer {
 public:
  ProgressPrinter(const config::Config& config, const train::Geometry& geometry, config::Progress style);
  ~ProgressPrinter() override;

  void step_done(const train::RunState& state, double lr) override;
  void epoch_done(const std::vector<double>& row, bool is_best) override;

 private:
  std::string line(const train::RunState& state, double lr) const;
  void clear_bar();

  config::Progress style_;
  double seconds_between_;
  std::int64_t epochs_;
  std::int64_t steps_per_epoch_;
  std::int64_t total_steps_;
  std::int64_t global_batch_;
  bool has_validation_;
  util::Stopwatch since_line_;
  bool bar_shown_ = false;
};

}  // namespace kolo::app
