#include "kolo/app/bench_train.hpp"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "kolo/app/bench.hpp"
#include "kolo/app/plan.hpp"
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

Series run_steps(RunContext& run, train::Replica& replica, const comm::Communicator& world,
                 const std::shared_ptr<data::Batch>& batch, std::int64_t passes) {
  train::TrainStep step(replica, run.config().train, world);
  train::StepRequest request;
  request.micro_batches = static_cast<std::size_t>(passes);
  request.global_samples = batch->count * passes * world.size();
  request.lr = run.config().optimizer.lr;
  Series series;
  run.world().barrier();
  for (std::int64_t i = -run.command_line.warmup; i < run.command_line.steps; ++i) {
    request.update = i + run.command_line.warmup + 1;
    const util::Stopwatch watch;
    const train::StepResult result = step.run([&batch] { return batch; }, request);
    if (i >= 0) series.add(watch.seconds(), result.times);
  }
  return series;
}

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

}  // namespace

BenchTrainResult measure_training(RunContext& run) {
  config::Config& config = run.config();
  if (config.train.batch_per_rank == 0 && config.train.global_batch == 0) {
    config.train.batch_per_rank = kDefaultBatchPerRank;
  }
  if (!run.loaded.is_set("optimizer.weight_decay") && config.optimizer.name == config::OptimizerName::sgd) {
    config.optimizer.weight_decay = 5e-4;
  }
  config.train.on_nonfinite = config::OnNonfinite::skip;  // random labels may diverge; the time is the same
  const comm::Communicator& world = run.world();
  std::shared_ptr<model::Network> network = open_data_and_network(run);
  const train::Geometry geometry = plan_geometry(run, *network);
  const fusion::StrategyChoice choice = train::choose_strategy(*network, config, world);
  const DType type = config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  const auto batch = random_batch(run.data->train, geometry.batch_per_rank(), type);
  const std::int64_t passes = config::resolve_batch(config.train, world.size()).accumulate;

  run.replica = std::make_unique<train::Replica>(std::move(network), config, choice.strategy, world);
  const Series together = run_steps(run, *run.replica, world, batch, passes);
  BenchTrainResult result;
  result.parameters = run.replica->plan().parameter_count();
  run.replica->close();
  run.replica.reset();

  comm::Communicator self = comm::Communicator::duplicate(MPI_COMM_SELF);
  {
    network = comm::agree(world, [&] { return build_network(config, run.data->train); });
    train::Replica replica(std::move(network), config, config::Strategy::allreduce, self);
    result.alone = run_steps(run, replica, self, batch, passes).summarize(world);
    replica.close();
  }
  self.close();

  result.together = together.summarize(world);
  const double seconds = world.all_reduce(together.total(), comm::Op::max);
  result.samples_per_s =
      static_cast<double>(batch->count * passes * world.size() * run.command_line.steps) / seconds;
  result.ranks = world.size();
  result.threads = run.binding.threads;
  result.batch_per_rank = batch->count * passes;
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
                                       {"ranks", r.ranks},
                                       {"threads", r.threads},
                                       {"batch_per_rank", r.batch_per_rank},
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
