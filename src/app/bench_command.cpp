#include "kolo/app/bench.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/json_file.hpp"

namespace kolo::app {
namespace {

std::string measure(RunContext& run) {
  const std::string& topic = run.command_line.topic;
  if (topic == "train") return bench_train(run);
  if (topic == "allreduce") return bench_allreduce(run);
  if (topic == "data") return bench_data(run);
  if (topic == "checkpoint") return bench_checkpoint(run);
  throw Error(ExitCode::internal, "a benchmark without code: " + topic);
}

}  // namespace

ExitCode bench_command(RunContext& run) {
  require_writable_json(run);
  write_json(run, measure(run));
  return ExitCode::finished;
}

}  // namespace kolo::app
