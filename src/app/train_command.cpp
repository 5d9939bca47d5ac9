#include <fmt/format.h>

#include "kolo/app/banner.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/end_report.hpp"
#include "kolo/app/open_run.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/app/progress.hpp"
#include "kolo/app/resume.hpp"
#include "kolo/app/run_keeper.hpp"
#include "kolo/app/stop_conditions.hpp"
#include "kolo/app/watch.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/handshake.hpp"
#include "kolo/comm/shared_segments.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

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
  identity.cpu = name_processors(run.world().all_gather(processor_name()));
  identity.build = version_text();
  identity.eval_batch = run.config().train.eval_batch;
  identity.layout = describe_layout(run.mpi->hosts());
  identity.mpi = comm::mpi_library();
  return identity;
}

// What only rank 0 has: the files and the screen.
struct Front {
  std::unique_ptr<ProgressPrinter> progress;
  std::unique_ptr<RunKeeper> keeper;
};

Front open_front(RunContext& run, const train::Geometry& geometry, const std::string& config_text,
                 const std::optional<io::Checkpoint>& checkpoint, config::Progress progress) {
  const io::MetricTable table =
      checkpoint ? checkpoint->metrics : io::MetricTable{train::metric_columns(), {}};
  take_over_run_directory(run, checkpoint);
  io::write_atomically(run.directory->config_path(), config_text);
  Front front;
  front.keeper = std::make_unique<RunKeeper>(*run.directory, run.loaded.config.checkpoint.keep, table,
                                             [pulse = run.pulse] { pulse.beat(); });
  front.progress = std::make_unique<ProgressPrinter>(run.loaded.config, geometry, progress);
  return front;
}

// Files in /dev/shm of runs that were killed hold memory until somebody removes them.
std::string describe_left_over() {
  const comm::SharedMemory memory = comm::look_at_shared_memory();
  if (memory.left_over.empty()) return "";
  double bytes = 0;
  std::string names;
  for (const comm::LeftOver& file : memory.left_over) {
    bytes += static_cast<double>(file.bytes);
    names += ' ' + file.path;
  }
  return fmt::format("dead runs of yours left {} in shared memory; to free it: rm{}",
                     util::format_bytes(bytes), names);
}

void log_plan(RunContext& run, const std::vector<std::string>& plan, const std::vector<std::string>& resume) {
  util::open_log_file(run.directory->log_path());
  for (const std::vector<std::string>& lines : {plan, resume})
    for (const std::string& line : lines)
      util::log(line);
  if (const std::string line = describe_job_end(run); !line.empty()) util::log(line);
  if (const std::string line = describe_left_over(); !line.empty()) util::log_warning(line);
  util::log(fmt::format("training into {}", run.directory->path().string()));
}

train::TrainerOptions make_options(RunContext& run, const train::Geometry& geometry, const Front& front,
                                   bool resumed) {
  train::TrainerOptions options;
  options.identity = identify(run, geometry);
  options.stop_after_epochs = run.command_line.stop_after_epochs;
  options.save_at_start = !run.command_line.init_from.empty() && !resumed;
  options.poll =
      make_poll(run, [&front] { return front.keeper ? front.keeper->longest_save_seconds() : 0.0; });
  options.config_text = deck_to_store(run.config(), geometry.global_batch());
  return options;
}

}  // namespace

ExitCode train_command(RunContext& run) {
  const comm::Communicator& world = run.world();
  comm::require_same(world, handshake_items(run));
  std::shared_ptr<model::Network> network = open_data_and_network(run);
  std::optional<io::Checkpoint> initial;
  const bool fresh = starts_fresh(run);
  if (fresh) {  // before anything is created
    plan_geometry(run, *network);
    initial = comm::agree(world, [&] { return read_initial_weights(run); });
  }
  const std::optional<io::Checkpoint> checkpoint = open_run_directory(run);
  adopt_stored_run(run, checkpoint);
  if (!fresh)
    initial = comm::agree(world, [&] { return checkpoint ? std::nullopt : read_initial_weights(run); });
  const bool resumed = world.broadcast(std::int64_t{checkpoint.has_value()}, 0) != 0;
  const train::Geometry geometry = plan_geometry(run, *network);
  const fusion::StrategyChoice choice = train::choose_strategy(*network, run.config(), world);
  const std::vector<std::string> plan = comm::agree(world, [&] {
    return run.is_root() ? describe_plan(run, *network, geometry, choice) : std::vector<std::string>{};
  });
  run.replica =
      std::make_unique<train::Replica>(std::move(network), run.config(), choice.strategy, world, run.pulse);
  take_initial_weights(run, initial);

  Front front;
  const train::TrainerOptions options = make_options(run, geometry, front, resumed);
  comm::agree(world, [&] {
    if (!run.is_root()) return;
    log_plan(run, plan,
             checkpoint ? explain_resume(run, *checkpoint, options.identity) : std::vector<std::string>{});
    const config::Progress progress = choose_progress(run.loaded.config.run.progress, run.launch);
    front = open_front(run, geometry, options.config_text, checkpoint, progress);
    run.shows_bar = progress == config::Progress::bar;
  });
  run.shows_bar = world.broadcast(std::int64_t{run.shows_bar}, 0) != 0;
  watch_over_nodes(run);

  train::Trainer trainer(run.config(), *run.replica, *run.data, geometry, world, options,
                         front.progress.get(), front.keeper.get());
  trainer.resume(checkpoint ? &*checkpoint : nullptr);
  const train::Outcome outcome = trainer.run();
  const std::string memory = describe_node_memory(run);
  comm::agree(world, [&] {
    if (!run.is_root()) return;
    report_end(run, outcome, run.replica->plan().parameter_count(), front.keeper->totals(), memory);
  });
  return exit_code_of(outcome);
}

}  // namespace kolo::app
