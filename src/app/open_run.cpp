#include "kolo/app/open_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "kolo/app/resume.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/log.hpp"

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

// What keeps a checkpoint from being used; empty: nothing.
std::string flaw_of(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return "is gone";
  try {
    io::read_sealed(path);
    return "";
  } catch (const CheckpointError& error) {
    return fmt::format("cannot be used ({})", error.what());
  }
}

// best.h5 points at what the checkpoint calls the best, which a later start may have changed; a best
// checkpoint that is gone or damaged is chosen anew, and not missed only at the end of the training.
void settle_best(io::RunDirectory& directory, const std::filesystem::path& newest,
                 io::Checkpoint& checkpoint) {
  train::RunState state = train::load_state(checkpoint.progress);
  if (state.best_step == 0) return;
  const std::filesystem::path path = directory.checkpoint_path(state.best_step);
  const std::string flaw = path == newest ? "" : flaw_of(path);
  if (flaw.empty()) {
    directory.update_best(path);
    return;
  }
  util::log_warning(
      fmt::format("the best checkpoint so far, {}, {}: the best is chosen anew", path.string(), flaw));
  state.best_epoch = 0;
  state.best_step = 0;
  state.best_val_top1 = -1;
  train::store(state, train::load_identity(checkpoint.progress), checkpoint.progress);
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
    if (run.directory->stop_requested()) {
      util::log("removing a STOP file from before this start");
      run.directory->remove_stop_file();
    }
    if (run.directory->start() == io::Start::fresh) return std::nullopt;
    io::NewestCheckpoint newest = run.directory->read_newest();
    for (const std::string& message : newest.damaged)
      util::log_warning(message);
    util::log(fmt::format("resuming from {}{}", newest.path.string(),
                          newest.damaged.empty() ? "" : ", the newest that is whole"));
    if (!run.command_line.init_from.empty())
      util::log("--init-from is not used: the run goes on from its own checkpoint");
    run.directory->update_last(newest.path);  // the run may have died before it did
    settle_best(*run.directory, newest.path, newest.checkpoint);
    return std::move(newest.checkpoint);
  });
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
    if (asked != 0 && asked != global_batch && run.loaded.is_set("train.global_batch")) {
      throw ConfigError(fmt::format(
          "train.global_batch = {}: the run to resume has {}, and changing it would make another run", asked,
          global_batch));
    }
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

std::vector<std::string> explain_resume(const io::Checkpoint& checkpoint,
                                        const train::RunIdentity& identity) {
  const train::RunIdentity stored = train::load_identity(checkpoint.progress);
  if (stored.samples != identity.samples || stored.data_digest != identity.data_digest) {
    throw CheckpointError(
        "the training data are not those the run was started with",
        "data.path must hold the same files, data.val_fraction and run.seed must be the same");
  }
  const auto reasons = inexact_because(stored, identity);
  if (reasons.empty())
    return {"  the resumed run is bit-exact: same ranks, threads, strategy, processor and build"};
  std::vector<std::string> lines;
  for (const std::string& reason : reasons)
    lines.push_back("  not bit-exact: " + reason);
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
