#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "kolo/app/bench_train.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

void print_row(std::string_view name, const StepCost& cost) {
  util::log(fmt::format("  {:<12} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}", name,
                        cost.step, cost.step_p95, cost.data, cost.forward, cost.backward, cost.exchange,
                        cost.update));
}

void print(const BenchTrainResult& result) {
  util::log(
      fmt::format("bench train: {} ({} parameters), {}, {} x {} threads, {} samples a rank, exchange {}",
                  result.model, util::format_count(result.parameters), result.optimizer, result.ranks,
                  result.threads, result.batch_per_rank, result.strategy));
  util::log(fmt::format("  {:<12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", "ms a step", "median", "p95",
                        "data", "forward", "backward", "exchange", "update"));
  print_row("all ranks", result.together);
  print_row("each alone", result.alone);
  util::log(fmt::format("  {:.1f} samples/s; a step costs {:.3f} x a rank's own while the others are as busy",
                        result.samples_per_s, result.together.step / result.alone.step));
}

// Before minutes of measuring.
void require_writable(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  if (access(parent.c_str(), W_OK) == 0) return;
  throw ConfigError(
      fmt::format("--json {}: cannot write to {}: {}", path, parent.string(), std::strerror(errno)));
}

}  // namespace

ExitCode bench_command(RunContext& run) {
  comm::agree(run.world(), [&] {
    if (run.is_root() && !run.command_line.json.empty()) require_writable(run.command_line.json);
  });
  const BenchTrainResult result = measure_training(run);
  comm::agree(run.world(), [&] {
    if (!run.is_root()) return;
    print(result);
    if (!run.command_line.json.empty()) io::write_atomically(run.command_line.json, to_json(result));
  });
  return ExitCode::finished;
}

}  // namespace kolo::app
