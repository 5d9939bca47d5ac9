// The table of `kolo bench allreduce`, after nccl-tests: a line for each type, strategy and size.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kolo/app/bench.hpp"
#include "kolo/bench/allreduce.hpp"
#include "kolo/bench/copy_bandwidth.hpp"
#include "kolo/bench/message.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/machine.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/fusion/exchange.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e9;
constexpr std::int64_t kSizeFactor = 4;
constexpr std::int64_t kLeastCopy = 4096;
constexpr int kCopyRepetitions = 9;

struct Row {
  bench::AllreduceCase what;
  bench::AllreduceResult result;
  std::int64_t bytes = 0;
  double algbw = 0;  ///< bytes a second
  double busbw = 0;
  double percent_of_copy_limit = 0;
};

struct Nodes {
  std::int64_t count = 1;
  std::int64_t ranks = 1;  ///< on this one
};

std::vector<DType> types_to_measure(const RunContext& run) {
  if (!run.loaded.is_set("run.dtype")) return {DType::f32, DType::f64};
  return {run.loaded.config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32};
}

std::vector<config::Strategy> strategies_to_measure(const config::Config& config) {
  if (config.comm.strategy != config::Strategy::automatic) return {config.comm.strategy};
  return {config::Strategy::shared, config::Strategy::allreduce};
}

std::vector<std::int64_t> sizes_to_measure(const config::CommandLine& line) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = line.min_bytes; bytes < line.max_bytes; bytes *= kSizeFactor)
    sizes.push_back(bytes);
  sizes.push_back(line.max_bytes);
  return sizes;
}

// The least time in which a node's memory can sum a message: every rank's is read, one sum is written, each
// rank moving its share as fast as it copies.
double copy_limit_seconds(const RunContext& run, const Nodes& nodes, std::int64_t bytes) {
  const std::int64_t share = std::max(kLeastCopy, (bytes + nodes.ranks - 1) / nodes.ranks);
  const double rate =
      bench::copy_bandwidth(run.mpi->node(), static_cast<std::size_t>(share), kCopyRepetitions);
  const double seconds = static_cast<double>((nodes.ranks + 1) * bytes) / rate;
  return run.world().all_reduce(seconds, comm::Op::max);
}

void print_header(const RunContext& run, const Nodes& nodes) {
  const int ranks = run.world().size();
  util::log(fmt::format("bench allreduce: {} rank{} on {} node{}, at most {} repetitions after {} of warm-up",
                        ranks, ranks == 1 ? "" : "s", nodes.count, nodes.count == 1 ? "" : "s",
                        run.command_line.steps, run.command_line.warmup));
  if (ranks == 1) util::log("  one rank: nothing is exchanged, the times are those of calls");
  util::log("  time: the slowest rank's, median; algbw: bytes / time; busbw: algbw x 2 (n - 1) / n");
  util::log("  plain MPI: one MPI_Allreduce of the message, in place");
  util::log(
      "  % copy: of the rate at which this node's memory copies, for reading n messages and writing one");
  util::log(fmt::format("  {:<5} {:<10} {:>11} {:>11} {:>11} {:>8} {:>8} {:>12} {:>7} {:>8}", "type",
                        "strategy", "bytes", "elements", "time us", "algbw", "busbw", "plain MPI us",
                        "% copy", "correct"));
}

void print(const Row& row) {
  util::log(fmt::format("  {:<5} {:<10} {:>11} {:>11} {:>11.1f} {:>8.2f} {:>8.2f} {:>12.1f} {:>7.1f} {:>8}",
                        name_of(row.what.type), config::name_of(row.what.strategy), row.bytes,
                        row.what.elements, row.result.seconds * kMicro, row.algbw / kGiga, row.busbw / kGiga,
                        row.result.plain_seconds * kMicro, row.percent_of_copy_limit,
                        row.result.correct ? "ok" : "WRONG"));
}

double available_memory() {
  const comm::Machine machine = comm::look_at_machine();
  const std::int64_t most = machine.limits.memory_bytes.value_or(machine.available_bytes);
  return static_cast<double>(std::min(machine.available_bytes, most));
}

// Contributions, results, the exchange's arrays and what is copied to find the limit, of every rank.
constexpr double kArraysOfARank = 7;

// Why messages of `bytes` do not fit in some node's memory; nothing when they do.  Collective.
std::string lacks_memory_for(const RunContext& run, const Nodes& nodes, double available,
                             std::int64_t bytes) {
  const double needed = kArraysOfARank * static_cast<double>(nodes.ranks) * static_cast<double>(bytes);
  const double least = run.world().all_reduce(available - needed, comm::Op::min);
  if (least >= 0) return "";
  return fmt::format("about {} a node are needed, {} too many", util::format_bytes(needed),
                     util::format_bytes(-least));
}

Row measure(const RunContext& run, const bench::AllreduceCase& what, double limit_seconds) {
  const int ranks = run.world().size();
  Row row;
  row.what = what;
  row.bytes = what.elements * static_cast<std::int64_t>(size_of(what.type));
  row.result = bench::measure_allreduce(what, run.world(), static_cast<int>(run.command_line.warmup),
                                        static_cast<int>(run.command_line.steps));
  row.algbw = static_cast<double>(row.bytes) / row.result.seconds;
  row.busbw = row.algbw * 2 * (ranks - 1) / ranks;
  // A rank alone has nothing to sum.
  row.percent_of_copy_limit = ranks > 1 ? 100 * limit_seconds / row.result.seconds : 0;
  return row;
}

// All sizes of one type and strategy; ends, saying why, at the first that the strategy cannot take.
std::vector<Row> measure_sizes(const RunContext& run, config::Strategy strategy, DType type,
                               const std::map<std::int64_t, double>& limit_seconds) {
  std::vector<Row> rows;
  for (const auto& [bytes, limit] : limit_seconds) {
    const auto element = static_cast<std::int64_t>(size_of(type));
    const bench::AllreduceCase what = {strategy, type, std::max<std::int64_t>(1, bytes / element)};
    const fusion::StrategyChoice choice =
        fusion::choose_strategy(strategy, bench::plan_message(what.elements, type), type, 0, run.world());
    if (choice.strategy != strategy) {
      util::log(fmt::format("  {:<5} {:<10} {:>11} not measured: {}", name_of(type),
                            config::name_of(strategy), bytes, choice.reason));
      break;
    }
    rows.push_back(measure(run, what, limit));
    print(rows.back());
  }
  return rows;
}

void require_correct(const comm::Communicator& world, const std::vector<Row>& rows) {
  const auto wrong =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.result.correct; });
  comm::agree(world, [&] {
    if (wrong == 0) return;
    throw CommError(
        fmt::format("bench allreduce: {} of {} sums are wrong, expected those of MPI_Allreduce in fp64",
                    wrong, rows.size()),
        "damaged memory, or an MPI library or network that loses data: do not train on these nodes");
  });
}

std::string to_json(int ranks, const Nodes& nodes, const std::vector<Row>& rows) {
  nlohmann::ordered_json json = {{"ranks", ranks}, {"nodes", nodes.count}, {"rows", nlohmann::json::array()}};
  for (const Row& row : rows) {
    json["rows"].push_back({{"type", name_of(row.what.type)},
                            {"strategy", config::name_of(row.what.strategy)},
                            {"bytes", row.bytes},
                            {"elements", row.what.elements},
                            {"time_us", row.result.seconds * kMicro},
                            {"algbw_gb_s", row.algbw / kGiga},
                            {"busbw_gb_s", row.busbw / kGiga},
                            {"plain_mpi_us", row.result.plain_seconds * kMicro},
                            {"percent_of_copy_limit", row.percent_of_copy_limit},
                            {"correct", row.result.correct}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

std::string bench_allreduce(RunContext& run) {
  const comm::Communicator& node = run.mpi->node();
  const std::int64_t first_of_node = node.rank() == 0 ? 1 : 0;
  const Nodes nodes = {run.world().all_reduce(first_of_node, comm::Op::sum), node.size()};
  print_header(run, nodes);
  std::map<std::int64_t, double> limit_seconds;  // by bytes
  const double available = comm::agree(run.world(), available_memory);
  for (const std::int64_t bytes : sizes_to_measure(run.command_line)) {
    const std::string lack = lacks_memory_for(run, nodes, available, bytes);
    if (!lack.empty()) {
      util::log(fmt::format("  messages of {} bytes and more are not measured: {}", bytes, lack));
      break;
    }
    limit_seconds[bytes] = copy_limit_seconds(run, nodes, bytes);
  }
  std::vector<Row> rows;
  for (const DType type : types_to_measure(run)) {
    for (const config::Strategy strategy : strategies_to_measure(run.config())) {
      const std::vector<Row> measured = measure_sizes(run, strategy, type, limit_seconds);
      rows.insert(rows.end(), measured.begin(), measured.end());
    }
  }
  require_correct(run.world(), rows);
  return to_json(run.world().size(), nodes, rows);
}

}  // namespace kolo::app
