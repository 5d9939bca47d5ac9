#include "kolo/app/open_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <system_error>

#include "kolo/app/best_checkpoint.hpp"
#include "kolo/app/resume.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

std::filesystem::path choose_run_directory(const RunContext& run) {
  if (!run.command_line.run_dir.empty()) return run.command_line.run_dir;
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  const std::string name = run.deck_name.empty() ? "run" : run.deck_name;
  const std::string base = fmt::format("runs/{}-{:%Y%m%d-%H%M%S}", name, local);
  std::string unused = base;
  for (int i = 2; std::filesystem::exists(unused); ++i)
    unused = fmt::format("{}-{}", base, i);
  return unused;
}

// What a step computes otherwise when its samples are dealt out to other ranks.
std::string what_goes_by_rank(const RunContext& run) {
  std::vector<std::string> parts;
  if (run.loaded.config.model.dropout > 0) parts.emplace_back("dropout masks are drawn by each rank");
  if (!run.replica->network().batch_norms().empty())
    parts.emplace_back("batch norm has the statistics of each rank's samples");
  return util::join(parts, ", ");
}

}  // namespace

bool starts_fresh(const RunContext& run) {
  std::int64_t fresh = 1;
  if (run.is_root() && run.command_line.resume != config::Resume::off) {
    std::error_code unknown;
    const std::filesystem::path directory = run.command_line.run_dir;
    fresh = std::filesystem::exists(directory / "checkpoints", unknown) || unknown ? 0 : 1;
  }
  return run.world().broadcast(fresh, 0) != 0;
}

std::optional<io::Checkpoint> open_run_directory(RunContext& run) {
  return comm::agree(run.world(), [&]() -> std::optional<io::Checkpoint> {
    if (!run.is_root()) return std::nullopt;
    run.directory.emplace(choose_run_directory(run), run.command_line.resume);
    run.had_stop_file = run.directory->stop_requested();
    if (run.directory->start() == io::Start::fresh) {
      std::error_code unknown;
      if (std::filesystem::exists(run.directory->config_path(), unknown))
        util::log("an earlier start here wrote no checkpoint: the run begins anew");
      return std::nullopt;
    }
    io::NewestCheckpoint newest = run.directory->read_newest();
    for (const std::string& message : newest.damaged)
      util::log_warning(message);
    util::log(fmt::format("resuming from {}{}", newest.path.string(),
                          newest.damaged.empty() ? "" : ", the newest that is whole"));
    if (!run.command_line.init_from.empty())
      util::log("--init-from is not used: the run goes on from its own checkpoint");
    replace_lost_best(*run.directory, newest.checkpoint);
    return std::move(newest.checkpoint);
  });
}

void take_over_run_directory(RunContext& run, const std::optional<io::Checkpoint>& checkpoint) {
  run.owns_directory = true;
  io::RunDirectory& directory = *run.directory;
  if (run.had_stop_file) {
    util::log("removing a STOP file from before this start");
    directory.remove_stop_file();
  }
  directory.remove_summary();  // of an earlier start: this one ends in its own way
  directory.remove_stale_temporaries();
  if (!checkpoint) return;
  // A run may have died between writing a checkpoint and pointing at it.
  const train::RunState state = train::load_state(checkpoint->progress);
  const std::filesystem::path newest = directory.checkpoint_path(state.step);
  directory.update_last(newest);
  if (state.best_step == 0) return;
  directory.update_best(directory.checkpoint_path(state.best_step));
  keep_best_of_each(directory, *checkpoint);
}

void adopt_stored_run(RunContext& run, const std::optional<io::Checkpoint>& checkpoint) {
  train::RunIdentity stored;
  comm::agree(run.world(), [&] {
    if (checkpoint) stored = train::load_identity(checkpoint->progress);
  });
  const std::int64_t global_batch = run.world().broadcast(stored.global_batch, 0);
  const std::int64_t batch_per_rank = run.world().broadcast(stored.batch_per_rank, 0);
  const std::int64_t world_size = run.world().broadcast(stored.world_size, 0);
  if (global_batch == 0) return;  // a new run
  const std::int64_t asked = run.config().train.global_batch;
  comm::agree(run.world(), [&] {
    if (asked != 0 && run.loaded.is_set("train.global_batch")) require_same_global_batch(asked, global_batch);
    adopt_global_batch(run.config(), global_batch, batch_per_rank, world_size == run.world().size());
    if (!checkpoint) return;
    require_same_deck(checkpoint->config, run.config());
    require_not_past(run.config().train, train::load_state(checkpoint->progress));
  });
}

std::optional<io::Checkpoint> read_initial_weights(const RunContext& run) {
  if (!run.is_root() || run.command_line.init_from.empty()) return std::nullopt;
  try {
    return io::read_checkpoint(run.command_line.init_from);
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("--init-from: {}", error.what()), error.hint());
  }
}

void take_initial_weights(RunContext& run, const std::optional<io::Checkpoint>& initial) {
  if (run.command_line.init_from.empty()) return;
  comm::agree(run.world(), [&] {
    if (!initial) return;
    try {
      run.replica->restore(*initial, train::Replica::Restore::weights_only);
    } catch (const CheckpointError& error) {
      throw CheckpointError(fmt::format("--init-from {}: {}", run.command_line.init_from, error.what()),
                            error.hint());
    }
  });
  run.replica->broadcast();
}

std::vector<std::string> explain_resume(const RunContext& run, const io::Checkpoint& checkpoint,
                                        const train::RunIdentity& identity) {
  const train::RunIdentity stored = train::load_identity(checkpoint.progress);
  if (stored.samples != identity.samples || stored.data_digest != identity.data_digest) {
    throw CheckpointError(
        "the training data are not those the run was started with",
        "data.path must hold the same files, data.val_fraction and run.seed must be the same");
  }
  const auto reasons = inexact_because(stored, identity);
  if (reasons.empty())
    return {
        "  the resumed run is bit-exact: same ranks on the same nodes, "
        "threads, strategy, processor, MPI and build"};
  std::vector<std::string> lines;
  for (const std::string& reason : reasons)
    lines.push_back("  not bit-exact: " + reason);
  if (const std::string what = what_goes_by_rank(run);
      !what.empty() && stored.world_size != identity.world_size)
    lines.push_back(fmt::format("  another computation, not only other roundings: {}", what));
  const bool same_length = stored.total_steps == identity.total_steps;
  lines.push_back(
      fmt::format("  still exact: every sample of the epoch once, the samples of each step, augmentation{}",
                  same_length ? ", learning rates" : ""));
  return lines;
}

// With both batch sizes the passes follow from them on any number of ranks; stored ones would fit this number
// only.
std::string deck_to_store(config::Config config, std::int64_t global_batch) {
  config.train.global_batch = global_batch;
  if (config.train.batch_per_rank != 0) config.train.accumulate = 1;
  return config::effective_deck(config);
}

}  // namespace kolo::app
