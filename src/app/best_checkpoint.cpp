#include "kolo/app/best_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "kolo/train/run_state.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"

namespace kolo::app {
namespace {

// What keeps a checkpoint from being used; empty: nothing.
std::string flaw_of(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) && !unknown) return "is gone";
  try {
    io::read_named_checkpoint(path);
    return "";
  } catch (const CheckpointError& error) {
    return fmt::format("cannot be used ({})", error.what());
  }
}

}  // namespace

BestEpoch best_epoch(const io::MetricTable& metrics, std::int64_t last_step,
                     const std::function<bool(std::int64_t)>& counts) {
  const auto column = [&metrics](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(metrics.columns, name) - metrics.columns.begin());
  };
  const std::size_t epoch = column("epoch"), step = column("step"), top1 = column("val_top1");
  BestEpoch best;
  if (std::max({epoch, step, top1}) >= metrics.columns.size()) return best;
  for (const std::vector<double>& row : metrics.rows) {
    const auto at = static_cast<std::int64_t>(row[step]);
    // Without a validation set the value is missing, and no comparison holds.
    if (at <= last_step && row[top1] > best.val_top1 && counts(at))
      best = {static_cast<std::int64_t>(row[epoch]), at, row[top1]};
  }
  return best;
}

void replace_lost_best(const io::RunDirectory& directory, io::Checkpoint& newest) {
  train::RunState state = train::load_state(newest.progress);
  if (state.best_step == 0 || state.best_step == state.step) return;
  const std::filesystem::path path = directory.checkpoint_path(state.best_step);
  const std::string flaw = flaw_of(path);
  if (flaw.empty()) return;
  const BestEpoch best = best_epoch(newest.metrics, state.step, [&](std::int64_t step) {
    return flaw_of(directory.checkpoint_path(step)).empty();
  });
  const std::string instead = best.step == 0 ? "the best is chosen anew, among what comes"
                                             : fmt::format("the best is now that of step {}", best.step);
  util::log_warning(fmt::format("the best checkpoint so far, {}, {}: {}", path.string(), flaw, instead));
  state.best_epoch = best.epoch;
  state.best_step = best.step;
  state.best_val_top1 = best.val_top1;
  train::store(state, train::load_identity(newest.progress), newest.progress);
}

void keep_best_of_each(io::RunDirectory& directory, const io::Checkpoint& newest) {
  for (const std::filesystem::path& path : directory.checkpoints()) {
    const std::int64_t step = io::checkpoint_step(path.filename().string()).value_or(0);
    const BestEpoch best = best_epoch(newest.metrics, step, [](std::int64_t) { return true; });
    if (best.step != 0) directory.keep_best_of(path, directory.checkpoint_path(best.step));
  }
}

}  // namespace kolo::app
