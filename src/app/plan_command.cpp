// `kolo plan`: which ranks x threads to start a deck with on this node, found by trying them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "kolo/app/commands.hpp"
#include "kolo/app/json_file.hpp"
#include "kolo/app/launch_plan_jobs.hpp"
#include "kolo/app/launch_plan_report.hpp"
#include "kolo/comm/cgroup.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/util/log.hpp"

namespace kolo::app {
namespace {

void log_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    util::log(line);
}

// A shell inside a Slurm job step is one task and may start others; any other launcher's copy may not.
bool is_launched(const comm::LaunchEnvironment& launch) {
  if (!launch.tasks) return false;
  return *launch.tasks > 1 || launch.source != "SLURM_STEP_NUM_TASKS";
}

void refuse_launch(const comm::LaunchEnvironment& launch) {
  throw CommError(fmt::format("kolo plan starts mpirun itself, but is itself one of {} ({} = {})",
                              *launch.tasks == 1 ? "1 copy" : fmt::format("{} copies", *launch.tasks),
                              launch.source, *launch.tasks),
                  "start it without mpirun or srun");
}

void read_deck(RunContext& run) {
  std::optional<config::DeckText> deck;
  if (!run.command_line.input.empty()) deck = config::read_deck_file(run.command_line.input);
  run.loaded = config::load_config(run.command_line, deck);
}

LaunchSite look_around(const config::CommandLine& line) {
  return find_site(line.launcher, comm::count_usable_cores(), comm::read_cgroup_limits().cpus.value_or(0),
                   read_slurm_allocation());
}

// The signal that ended it early, if one did.
std::optional<int> measure(const LaunchSite& site, const JobTemplate& job, std::vector<PlanRow>& rows,
                           const util::HeldSignals& signals) {
  for (PlanRow& row : rows) {
    if (row.attempt != Attempt::planned) continue;
    const JobResult result = run_job(site, job, row, signals);
    if (result.interrupted) return result.interrupted;
    row = result.row;
    util::log(progress_line(row));
  }
  return std::nullopt;
}

void require_one_measured(const std::vector<PlanRow>& rows, const LaunchSite& site, const JobTemplate& job) {
  if (rows.front().attempt == Attempt::measured) return;
  const auto first = std::ranges::find(rows, Attempt::failed, &PlanRow::attempt);
  if (first == rows.end()) throw ConfigError(rows.front().reason);
  throw Error(first->failure,
              fmt::format("no job of kolo plan came to its end; with {}: {}", text_of(first->combination),
                          first->reason),
              "see all it says with " + shell_line(job_words(site, job, first->combination)));
}

// Deck and --set without a batch: every job gets the batch that training would take.  Returns it, or 0.
std::int64_t fix_batch(config::TrainSection& train) {
  if (train.global_batch > 0 || train.batch_per_rank > 0) return 0;
  train.global_batch = config::resolve_batch(train, 1).global_batch;
  return train.global_batch;
}

// Returns the signal that ended it early, once nothing of it is left, if one did.
std::optional<int> measure_and_report(const RunContext& run, const LaunchSite& site, const JobTemplate& job) {
  const util::HeldSignals signals;
  if (!run.command_line.json.empty()) require_writable(run.command_line.json);
  std::vector<PlanRow> rows = plan_rows(site.cores, run.loaded.config.train);
  util::log(announcement(site, run.command_line, rows));
  log_lines(notes(site, run.loaded, job.fixed_batch));
  if (const auto signal = measure(site, job, rows, signals)) return signal;
  rows = ranked(std::move(rows));
  require_one_measured(rows, site, job);
  log_lines(table(rows));
  const std::string launch_line =
      advised_line(site, run.program, run.command_line, run.loaded, advised(rows).combination);
  log_lines(advice(rows, launch_line));
  if (!run.command_line.json.empty()) write_report(run.command_line.json, to_json(site, rows, launch_line));
  return std::nullopt;
}

}  // namespace

ExitCode plan_command(RunContext& run) {
  if (is_launched(run.launch)) {
    // Only the first copy speaks, and sets the code of all: another's could end it before it has spoken.
    if (run.launch.rank.value_or(0) > 0) return ExitCode::finished;
    refuse_launch(run.launch);
  }
  util::enable_log(true);
  read_deck(run);
  const LaunchSite site = look_around(run.command_line);
  const std::int64_t fixed_batch = fix_batch(run.config().train);
  const JobTemplate job = {std::filesystem::read_symlink("/proc/self/exe"), run.command_line, fixed_batch};
  if (const auto signal = measure_and_report(run, site, job)) util::die_by_signal(*signal);
  return ExitCode::finished;
}

}  // namespace kolo::app
