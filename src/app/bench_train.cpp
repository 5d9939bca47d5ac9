#include "kolo/app/bench_train.hpp"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "kolo/app/bench.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/bench/copy_bandwidth.hpp"
#include "kolo/bench/quantile.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/data/philox.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {
namespace {

constexpr double kMilli = 1e3;
constexpr std::int64_t kDefaultBatchPerRank = 64;
constexpr int kTurns = 4;
// So small that random labels cannot make the weights diverge: a skipped update would cost nothing.
constexpr double kRate = 1e-9;

template <class T>
void fill_with_noise(data::Batch& batch) {
  std::uint64_t index = 0;
  for (T& pixel : batch.values<T>()) {
    const std::uint32_t word = data::draw(1, data::Stream::noise, index++, 0)[0];
    pixel = static_cast<T>(word) / static_cast<T>(1ULL << 32);
  }
}

std::shared_ptr<data::Batch> random_batch(const data::Dataset& set, std::int64_t count, DType type) {
  auto batch = std::make_shared<data::Batch>();
  batch->count = count;
  batch->dtype = type;
  batch->shape = set.shape();
  batch->images.reserve(static_cast<std::size_t>(count * set.shape().numel()) * size_of(type));
  type == DType::f64 ? fill_with_noise<double>(*batch) : fill_with_noise<float>(*batch);
  for (std::int64_t i = 0; i < count; ++i)
    batch->labels.push_back(i % set.num_classes());
  return batch;
}

// The times of many steps on this rank.
class Series {
 public:
  void add(double step, const train::StepTimes& times) {
    const std::array<double, 6> row = {step,           times.data,     times.forward,
                                       times.backward, times.exchange, times.update};
    for (std::size_t i = 0; i < row.size(); ++i)
      columns_[i].push_back(row[i]);
    total_ += step;
  }
  double total() const { return total_; }

  StepCost summarize(const comm::Communicator& world) const {
    const double step = world.all_reduce(bench::quantile(columns_[0], 0.5), comm::Op::max);
    const double p95 = world.all_reduce(bench::quantile(columns_[0], 0.95), comm::Op::max);
    std::array<double, 5> parts = {};
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = bench::quantile(columns_[i + 1], 0.5);
    world.all_reduce(parts, comm::Op::sum);
    for (double& part : parts)
      part *= kMilli / world.size();
    return {step * kMilli, p95 * kMilli, parts[0], parts[1], parts[2], parts[3], parts[4]};
  }

 private:
  std::array<std::vector<double>, 6> columns_;
  double total_ = 0;
};

// One way of running the step, with its times so far.
class Runner {
 public:
  Runner(RunContext& run, train::Replica& replica, const comm::Communicator& world,
         std::shared_ptr<data::Batch> batch, std::int64_t passes)
      : step_(replica, run.config().train, world), batch_(std::move(batch)) {
    request_.micro_batches = static_cast<std::size_t>(passes);
    request_.global_samples = batch_->count * passes * world.size();
    request_.lr = kRate;
    request_.update = 0;
  }

  void warm_up(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i)
      take_step();
  }
  void measure(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const util::Stopwatch watch;
      const train::StepResult result = take_step();
      series_.add(watch.seconds(), result.times);
      if (!result.applied) ++skipped_;
    }
  }
  const Series& series() const { return series_; }
  std::int64_t skipped() const { return skipped_; }

 private:
  train::StepResult take_step() {
    ++request_.update;
    return step_.run([this] { return batch_; }, request_);
  }

  train::TrainStep step_;
  std::shared_ptr<data::Batch> batch_;
  train::StepRequest request_;
  Series series_;
  std::int64_t skipped_ = 0;
};

// Both ways by turns, so that what else happens on the machine meets both.
void measure_by_turns(const RunContext& run, Runner& together, Runner& alone) {
  for (Runner* runner : {&together, &alone}) {
    run.world().barrier();
    runner->warm_up(run.command_line.warmup);
  }
  std::int64_t left = run.command_line.steps;
  for (int turn = kTurns; turn > 0; --turn) {
    const std::int64_t steps = left / turn;
    left -= steps;
    for (Runner* runner : {&together, &alone}) {
      run.world().barrier();
      runner->measure(steps);
    }
  }
}

void require_applied(const comm::Communicator& world, std::int64_t skipped, std::int64_t steps) {
  comm::agree(world, [&] {
    if (skipped == 0) return;
    throw DivergedError(
        fmt::format("bench train: {} of {} steps were skipped for a gradient that is not finite: "
                    "their times say nothing",
                    skipped, steps));
  });
}

// A deck keeps its own; without one a step is what published recipes have.
void set_defaults(const RunContext& run, config::Config& config) {
  if (config.train.batch_per_rank == 0 && config.train.global_batch == 0) {
    config.train.batch_per_rank = kDefaultBatchPerRank;
  }
  const bool own_deck = !run.command_line.input.empty() || run.loaded.is_set("optimizer.weight_decay");
  if (!own_deck && config.optimizer.name == config::OptimizerName::sgd) config.optimizer.weight_decay = 5e-4;
}

void print_row(std::string_view name, const StepCost& cost) {
  util::log(fmt::format("  {:<12} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}", name,
                        cost.step, cost.step_p95, cost.data, cost.forward, cost.backward, cost.exchange,
                        cost.update));
}

void print(const BenchTrainResult& result) {
  util::log(fmt::format(
      "bench train: {} ({} parameters), {}, {} x {} threads, {} samples a rank{}, exchange {}", result.model,
      util::format_count(result.parameters), result.optimizer, result.ranks, result.threads,
      result.batch_per_rank, result.accumulate > 1 ? fmt::format(" x {} passes", result.accumulate) : "",
      result.strategy));
  util::log(fmt::format("  {:<12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", "ms a step", "median", "p95",
                        "data", "forward", "backward", "exchange", "update"));
  print_row("all ranks", result.together);
  print_row("each alone", result.alone);
  util::log(fmt::format("  {:.1f} samples/s; a step costs {:.3f} x a rank's own while the others are as busy",
                        result.samples_per_s, result.together.step / result.alone.step));
  if (result.move_limit == 0) return;
  util::log(fmt::format(
      "  exchange and update take {:.2f} x the {:.3f} ms in which this node's memory copies as many bytes",
      (result.together.exchange + result.together.update) / result.move_limit, result.move_limit));
}

double move_limit_ms(const RunContext& run, const train::Replica& replica, config::Strategy strategy) {
  const comm::Communicator& node = run.mpi->node();
  if (strategy != config::Strategy::shared || node.size() != run.world().size()) return 0;
  constexpr std::size_t kCopied = std::size_t{64} << 20;
  constexpr int kCopies = 5;
  const fusion::BucketPlan& plan = replica.plan();
  const double array = static_cast<double>(plan.size) * static_cast<double>(plan.element_size);
  const auto arrays = 3 * static_cast<double>(node.size()) +
                      2 * static_cast<double>(1 + replica.exchange().memory().states.size());
  return kMilli * arrays * array / bench::copy_bandwidth(node, kCopied, kCopies);
}

}  // namespace

BenchTrainResult measure_training(RunContext& run) {
  config::Config& config = run.config();
  set_defaults(run, config);
  const comm::Communicator& world = run.world();
  std::shared_ptr<model::Network> network = open_data_and_network(run);
  const train::Geometry geometry = plan_geometry(run, *network);
  const fusion::StrategyChoice choice = train::choose_strategy(*network, config, world);
  const DType type = config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  const auto batch = random_batch(run.data->train, geometry.batch_per_rank(), type);
  const std::int64_t passes = config::resolve_batch(config.train, world.size()).accumulate;
  BenchTrainResult result;

  run.replica = std::make_unique<train::Replica>(std::move(network), config, choice.strategy, world);
  comm::Communicator self = comm::Communicator::duplicate(MPI_COMM_SELF);
  network = comm::agree(world, [&] { return build_network(config, run.data->train); });
  {
    train::Replica own(std::move(network), config, config::Strategy::allreduce, self);
    Runner together(run, *run.replica, world, batch, passes);
    Runner alone(run, own, self, batch, passes);
    measure_by_turns(run, together, alone);
    require_applied(world, together.skipped() + alone.skipped(), 2 * run.command_line.steps);
    result.together = together.series().summarize(world);
    result.alone = alone.series().summarize(world);
    const double seconds = world.all_reduce(together.series().total(), comm::Op::max);
    result.samples_per_s =
        static_cast<double>(batch->count * passes * world.size() * run.command_line.steps) / seconds;
    own.close();
  }
  self.close();
  result.parameters = run.replica->plan().parameter_count();
  result.move_limit = move_limit_ms(run, *run.replica, choice.strategy);
  run.replica->close();
  run.replica.reset();

  result.ranks = world.size();
  result.threads = run.binding.threads;
  result.batch_per_rank = batch->count;
  result.accumulate = passes;
  result.model = config.model.name;
  result.optimizer = config::name_of(config.optimizer.name);
  result.strategy = config::name_of(choice.strategy);
  return result;
}

std::string to_json(const BenchTrainResult& r) {
  const nlohmann::ordered_json json = {{"samples_per_s", r.samples_per_s},
                                       {"step_ms", r.together.step},
                                       {"step_p95_ms", r.together.step_p95},
                                       {"step_ms_without_exchange", r.alone.step},
                                       {"data_ms", r.together.data},
                                       {"forward_ms", r.together.forward},
                                       {"backward_ms", r.together.backward},
                                       {"exchange_ms", r.together.exchange},
                                       {"update_ms", r.together.update},
                                       {"move_limit_ms", r.move_limit},
                                       {"ranks", r.ranks},
                                       {"threads", r.threads},
                                       {"batch_per_rank", r.batch_per_rank},
                                       {"accumulate", r.accumulate},
                                       {"strategy", r.strategy},
                                       {"model", r.model},
                                       {"optimizer", r.optimizer},
                                       {"parameters", r.parameters}};
  return json.dump(2) + "\n";
}

std::string bench_train(RunContext& run) {
  const BenchTrainResult result = measure_training(run);
  if (run.is_root()) print(result);
  return to_json(result);
}

}  // namespace kolo::app
