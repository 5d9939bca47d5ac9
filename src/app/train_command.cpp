#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "kolo/app/banner.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/end_report.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/app/progress.hpp"
#include "kolo/app/resume.hpp"
#include "kolo/app/run_keeper.hpp"
#include "kolo/app/signals.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/handshake.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/util/digest.hpp"
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

// Whether there is certainly nothing to resume.
bool starts_fresh(const RunContext& run) {
  std::int64_t fresh = 1;
  if (run.is_root() && run.command_line.resume != config::Resume::off) {
    fresh = std::filesystem::exists(std::filesystem::path(run.command_line.run_dir) / "checkpoints") ? 0 : 1;
  }
  return run.world().broadcast(fresh, 0) != 0;
}

// best.h5 points at what the checkpoint calls the best, which a later start may have changed; a best
// checkpoint that is gone is chosen anew.
void settle_best(io::RunDirectory& directory, io::Checkpoint& checkpoint) {
  train::RunState state = train::load_state(checkpoint.progress);
  if (state.best_step == 0) return;
  const std::filesystem::path path = directory.checkpoint_path(state.best_step);
  if (std::filesystem::exists(path)) {
    directory.update_best(path);
    return;
  }
  util::log_warning(
      fmt::format("the best checkpoint so far, {}, is gone: the best is chosen anew", path.string()));
  state.best_epoch = 0;
  state.best_step = 0;
  state.best_val_top1 = -1;
  train::store(state, train::load_identity(checkpoint.progress), checkpoint.progress);
}

// Rank 0 opens the run directory and, when the run goes on, reads the checkpoint it goes on from.
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
    util::log(fmt::format("resuming from {}", newest.path.string()));
    settle_best(*run.directory, newest.checkpoint);
    return std::move(newest.checkpoint);
  });
}

// The stored batch reaches every rank; the decks are compared where the checkpoint is.
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

train::RunIdentity identify(RunContext& run, const train::Geometry& geometry) {
  const config::BatchGeometry batch = config::resolve_batch(run.config().train, run.world().size());
  train::RunIdentity identity;
  identity.global_batch = batch.global_batch;
  identity.accumulate = batch.accumulate;
  identity.batch_per_rank = batch.batch_per_rank;
  identity.world_size = run.world().size();
  identity.threads = run.binding.threads;
  identity.samples = geometry.samples_per_epoch();
  identity.total_steps = train::total_steps(run.config().train, geometry.steps_per_epoch());
  identity.data_digest = util::to_hex(run.data->train.fingerprint());
  identity.strategy = run.replica->exchange().name();
  identity.cpu = processor_name();
  identity.build = version_text();
  return identity;
}

void explain_resume(const io::Checkpoint& checkpoint, const train::RunIdentity& identity) {
  const train::RunIdentity stored = train::load_identity(checkpoint.progress);
  if (stored.samples != identity.samples || stored.data_digest != identity.data_digest) {
    throw CheckpointError(
        "the training data are not those the run was started with",
        "data.path must hold the same files, data.val_fraction and run.seed must be the same");
  }
  const auto reasons = inexact_because(stored, identity);
  if (reasons.empty()) {
    util::log("  the resumed run is bit-exact: same ranks, threads, strategy, processor and build");
    return;
  }
  for (const std::string& reason : reasons)
    util::log("  not bit-exact: " + reason);
  const bool same_length = stored.total_steps == identity.total_steps;
  util::log(
      fmt::format("  still exact: every sample of the epoch once, the samples of each step, augmentation{}",
                  same_length ? ", learning rates" : ""));
}

train::StopPoll make_poll(const RunContext& run) {
  constexpr double kLookSeconds = 0.5;  // a run directory may be on a slow file system
  util::Stopwatch since_look;
  bool stop_file = false;
  return [&run, since_look, stop_file]() mutable {
    train::StopFlags flags = received_signals();
    if (!run.directory) return flags;
    if (!stop_file && since_look.seconds() > kLookSeconds) {
      since_look.lap();
      stop_file = run.directory->stop_requested();
    }
    flags.set(static_cast<std::size_t>(train::StopCause::stop_file), stop_file);
    const std::optional<double> limit = run.command_line.max_seconds;
    flags.set(static_cast<std::size_t>(train::StopCause::time_limit),
              limit && run.since_start.seconds() >= *limit);
    return flags;
  };
}

// With both batch sizes the passes follow from them on any number of ranks; stored ones would fit this number
// only.
std::string deck_to_store(config::Config config, std::int64_t global_batch) {
  config.train.global_batch = global_batch;
  if (config.train.batch_per_rank != 0) config.train.accumulate = 1;
  return config::effective_deck(config);
}

// What only rank 0 has: the files and the screen.
struct Front {
  std::unique_ptr<ProgressPrinter> progress;
  std::unique_ptr<RunKeeper> keeper;
};

Front open_front(RunContext& run, const train::Geometry& geometry, const std::string& config_text,
                 const std::optional<io::Checkpoint>& checkpoint) {
  const io::MetricTable table =
      checkpoint ? checkpoint->metrics : io::MetricTable{train::metric_columns(), {}};
  std::filesystem::remove(
      run.directory->summary_path());  // of an earlier start: this one ends in its own way
  io::write_atomically(run.directory->config_path(), config_text);
  Front front;
  front.keeper = std::make_unique<RunKeeper>(*run.directory, run.loaded.config.checkpoint.keep, table);
  front.progress = std::make_unique<ProgressPrinter>(
      run.loaded.config, geometry, choose_progress(run.loaded.config.run.progress, run.launch));
  return front;
}

void log_plan(RunContext& run, const std::vector<std::string>& plan,
              const std::optional<io::Checkpoint>& checkpoint, const train::RunIdentity& identity) {
  util::open_log_file(run.directory->log_path());
  for (const std::string& line : plan)
    util::log(line);
  if (checkpoint) explain_resume(*checkpoint, identity);
  util::log(fmt::format("training into {}", run.directory->path().string()));
}

}  // namespace

ExitCode train_command(RunContext& run) {
  const comm::Communicator& world = run.world();
  comm::require_same(world, handshake_items(run));
  std::shared_ptr<model::Network> network = open_data_and_network(run);
  if (starts_fresh(run)) plan_geometry(run, *network);  // before anything is created
  const std::optional<io::Checkpoint> checkpoint = open_run_directory(run);
  adopt_stored_run(run, checkpoint);
  const train::Geometry geometry = plan_geometry(run, *network);
  const fusion::StrategyChoice choice = train::choose_strategy(*network, run.config(), world);
  const std::vector<std::string> plan = comm::agree(world, [&] {
    return run.is_root() ? describe_plan(run, *network, geometry, choice) : std::vector<std::string>{};
  });
  run.replica = std::make_unique<train::Replica>(std::move(network), run.config(), choice.strategy, world);

  train::TrainerOptions options;
  options.identity = identify(run, geometry);
  options.stop_after_epochs = run.command_line.stop_after_epochs;
  options.poll = make_poll(run);
  options.config_text = deck_to_store(run.config(), geometry.global_batch());
  const Front front = comm::agree(world, [&] {
    if (!run.is_root()) return Front{};
    log_plan(run, plan, checkpoint, options.identity);
    return open_front(run, geometry, options.config_text, checkpoint);
  });

  train::Trainer trainer(run.config(), *run.replica, *run.data, geometry, world, options,
                         front.progress.get(), front.keeper.get());
  trainer.resume(checkpoint ? &*checkpoint : nullptr);
  const train::Outcome outcome = trainer.run();
  const std::string memory = describe_node_memory(run);
  comm::agree(world, [&] {
    if (run.is_root()) report_end(run, outcome, run.replica->plan().parameter_count(), memory);
  });
  return exit_code_of(outcome);
}

}  // namespace kolo::app
