#include "kolo/app/end_report.hpp"

#include <fmt/format.h>

#include "kolo/util/log.hpp"
#include "kolo/util/process_memory.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

using util::format_duration;

std::string reason_token(const train::Outcome& outcome) {
  switch (outcome.reason) {
    case train::EndReason::completed:
      return "completed";
    case train::EndReason::max_steps:
      return "max_steps";
    case train::EndReason::early_stop:
      return "early_stop";
    case train::EndReason::stopped:
      return "stopped: " + outcome.detail;
  }
  return "?";
}

std::string reason_text(const train::Outcome& outcome, const config::Config& config) {
  const train::RunState& state = outcome.state;
  switch (outcome.reason) {
    case train::EndReason::completed:
      return fmt::format("completed {} epochs", state.epoch);
    case train::EndReason::max_steps:
      return fmt::format("reached train.max_steps = {}", config.train.max_steps);
    case train::EndReason::early_stop:
      return fmt::format("no better val_top1 for {} epochs (train.early_stop_patience)",
                         state.epochs_without_gain);
    case train::EndReason::stopped:
      return fmt::format("stopped by {} after step {} (epoch {}, step {} in it); resumable", outcome.detail,
                         state.step, state.epoch + 1, state.step_in_epoch);
  }
  return "?";
}

void report_times(const train::Outcome& outcome) {
  const train::StepTimes& t = outcome.times;
  util::log(fmt::format(
      "  time       data {}, forward {}, backward {}, exchange {}, update {}; evaluation {}, checkpoints {}",
      format_duration(t.data), format_duration(t.forward), format_duration(t.backward),
      format_duration(t.exchange), format_duration(t.update), format_duration(outcome.eval_seconds),
      format_duration(outcome.checkpoint_seconds)));
  util::log(fmt::format("  speed      {:.0f} samples/s in training", outcome.samples_per_s));
}

void report_checkpoints(const train::Outcome& outcome, const KeeperTotals& totals) {
  if (totals.checkpoints == 0) return;
  util::log(fmt::format("  saved      {} checkpoint{}, {} in {} beside the training, which waited {}",
                        totals.checkpoints, totals.checkpoints == 1 ? "" : "s",
                        util::format_bytes(totals.bytes), format_duration(totals.seconds),
                        format_duration(outcome.checkpoint_seconds)));
}

std::string resume_command(const RunContext& run) {
  const std::string directory = run.directory->path().string();
  const std::string launcher = run.world().size() > 1 ? fmt::format("mpirun -n {} ", run.world().size()) : "";
  return fmt::format("{}{} --run-dir {} --resume required", launcher, util::shell_quoted(run.program),
                     util::shell_quoted(directory));
}

void write_summary(const RunContext& run, const train::Outcome& outcome, std::int64_t parameters) {
  io::Summary summary;
  summary.reason = reason_token(outcome);
  summary.exit_code = static_cast<int>(exit_code_of(outcome));
  summary.epochs = outcome.state.epoch;
  if (outcome.state.best_epoch > 0) summary.best_epoch = outcome.state.best_epoch;
  if (outcome.state.best_val_top1 >= 0) summary.best_val_top1 = outcome.state.best_val_top1;
  if (outcome.test) {
    summary.test_top1 = outcome.test->top1_fraction();
    summary.test_loss = outcome.test->mean_loss();
  }
  if (outcome.samples_per_s > 0) summary.samples_per_s = outcome.samples_per_s;
  summary.parameters = parameters;
  run.directory->write_summary(summary);
}

}  // namespace

ExitCode exit_code_of(const train::Outcome& outcome) {
  return outcome.reason == train::EndReason::stopped ? ExitCode::resumable : ExitCode::finished;
}

std::string describe_node_memory(const RunContext& run) {
  const util::ProcessMemory own = util::process_memory().value_or(util::ProcessMemory{});
  const comm::Communicator& node = run.mpi->node();
  const double total = node.all_reduce(own.total, comm::Op::sum);
  const double shared = node.all_reduce(own.shared_memory, comm::Op::sum);
  if (total == 0) return "";
  return fmt::format("{} on this node at the end ({} rank{}), of it {} in shared memory",
                     util::format_bytes(total), node.size(), node.size() == 1 ? "" : "s",
                     util::format_bytes(shared));
}

void report_end(RunContext& run, const train::Outcome& outcome, std::int64_t parameters,
                const KeeperTotals& checkpoints, const std::string& memory) {
  const train::RunState& state = outcome.state;
  const std::string directory = run.directory->path().string();
  util::log("end: " + reason_text(outcome, run.loaded.config) + " in " +
            format_duration(run.since_start.seconds()));
  if (state.best_val_top1 >= 0) {
    util::log(fmt::format("  best       val_top1 {:.2f} % in epoch {}: {}/checkpoints/best.h5",
                          100 * state.best_val_top1, state.best_epoch, directory));
  }
  if (outcome.test) {
    util::log(fmt::format("  test       top1 {:.2f} %, loss {:.4f} over {} samples with the best model",
                          100 * outcome.test->top1_fraction(), outcome.test->mean_loss(),
                          util::format_count(static_cast<std::int64_t>(outcome.test->samples))));
  }
  report_times(outcome);
  report_checkpoints(outcome, checkpoints);
  if (!memory.empty()) util::log("  memory     " + memory);
  util::log(fmt::format("  results    {}: metrics.csv, metrics.jsonl, metrics.h5, summary.json, checkpoints/",
                        directory));
  if (outcome.reason == train::EndReason::stopped) util::log("  resume     " + resume_command(run));
  if (outcome.reason == train::EndReason::stopped) run.directory->remove_stop_file();  // it has done its work
  write_summary(run, outcome, parameters);
}

}  // namespace kolo::app
