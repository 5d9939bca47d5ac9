// `kolo bench data`: the loader alone, all ranks at once, batches taken as fast as they come.
//
// The steps are a training run's, over as many epochs as they need.  A loader works ahead, so its queue is
// emptied before anything counts: warm-up takes at least as many steps as the queue has places.  No barrier
// stands between warm-up and counting, it would let the queues of the ranks that wait fill again.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kolo/app/bench.hpp"
#include "kolo/bench/quantile.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/train/geometry.hpp"
#include "kolo/train/loader_options.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {
namespace {

constexpr double kMilli = 1e3;
constexpr double kMega = 1e6;
constexpr std::int64_t kDefaultBatchPerRank = 64;
constexpr std::int64_t kLeastQueuesCounted = 4;

struct Steps {
  std::int64_t warmup = 0;
  std::int64_t counted = 0;
};

// What one rank saw of the counted steps.
struct Delivery {
  std::int64_t samples = 0;
  double seconds = 0;
  std::vector<double> waits;  ///< seconds, a batch each
};

struct DataResult {
  double samples_per_s = 0;  ///< of all ranks
  double bytes_per_s = 0;    ///< likewise, of decoded pixels
  double wait = 0;           ///< the slowest rank's median
  double wait_p95 = 0;
};

Steps plan_steps(const config::CommandLine& line, std::int64_t prefetch) {
  return {std::max(line.warmup, prefetch), std::max(line.steps, kLeastQueuesCounted * prefetch)};
}

// The passes of `steps` training steps in order, then nothing.
data::Loader::NextRequest requests_of(const train::Geometry& geometry, std::int64_t steps) {
  return [&geometry, steps, step = std::int64_t{0}, piece = std::size_t{0},
          pieces = std::vector<data::Range>()]() mutable -> std::optional<data::BatchRequest> {
    while (piece == pieces.size()) {
      if (step == steps) return std::nullopt;
      pieces = geometry.micro_batches(step++ % geometry.steps_per_epoch());
      piece = 0;
    }
    const data::Range range = pieces[piece++];
    return data::BatchRequest{(step - 1) / geometry.steps_per_epoch(), range.begin, range.end};
  };
}

void take_step(data::Loader& loader, const train::Geometry& geometry, std::int64_t step, Delivery& delivery) {
  const std::size_t passes = geometry.micro_batches(step % geometry.steps_per_epoch()).size();
  for (std::size_t i = 0; i < passes; ++i) {
    const std::shared_ptr<data::Batch> batch = loader.next();
    delivery.samples += batch->count;
    delivery.waits.push_back(batch->wait_seconds);
  }
}

Delivery take_batches(const data::Dataset& set, const data::LoaderOptions& options,
                      const train::Geometry& geometry, const Steps& steps) {
  data::Loader loader(set, options, requests_of(geometry, steps.warmup + steps.counted));
  Delivery before;
  for (std::int64_t step = 0; step < steps.warmup; ++step)
    take_step(loader, geometry, step, before);
  Delivery counted;
  const util::Stopwatch watch;
  for (std::int64_t step = steps.warmup; step < steps.warmup + steps.counted; ++step)
    take_step(loader, geometry, step, counted);
  counted.seconds = watch.seconds();
  return counted;
}

train::Geometry plan_batches(RunContext& run) {
  config::TrainSection& section = run.config().train;
  if (section.batch_per_rank == 0 && section.global_batch == 0) section.batch_per_rank = kDefaultBatchPerRank;
  return comm::agree(run.world(), [&] {
    const config::BatchGeometry batch = config::resolve_batch(section, run.world().size());
    return train::Geometry(run.data->train.size(), batch, run.world().rank(), run.world().size(), 1);
  });
}

DataResult summarize(const comm::Communicator& world, const Delivery& delivery, double bytes_per_sample) {
  const auto samples = static_cast<double>(world.all_reduce(delivery.samples, comm::Op::sum));
  const double seconds = world.all_reduce(delivery.seconds, comm::Op::max);
  DataResult result;
  result.samples_per_s = samples / seconds;
  result.bytes_per_s = result.samples_per_s * bytes_per_sample;
  result.wait = world.all_reduce(bench::median(delivery.waits), comm::Op::max);
  result.wait_p95 = world.all_reduce(bench::quantile(delivery.waits, 0.95), comm::Op::max);
  return result;
}

void print(const RunContext& run, const DataResult& result, const train::Geometry& geometry,
           const Steps& steps) {
  const config::Config& config = run.loaded.config;
  const data::Dataset& set = run.data->train;
  const int ranks = run.world().size();
  util::log(fmt::format("bench data: {} samples of {}, {}", util::format_count(set.size()),
                        data::to_string(set.shape()), set.description()));
  util::log(fmt::format("  {} rank{} x {} samples in {}, prefetch {}; {} steps after {} of warm-up", ranks,
                        ranks == 1 ? "" : "s", geometry.batch_per_rank(), config::name_of(config.run.dtype),
                        config.data.prefetch, steps.counted, steps.warmup));
  util::log(fmt::format("  {:.1f} samples/s, {:.1f} a rank; {:.1f} MB/s of decoded pixels",
                        result.samples_per_s, result.samples_per_s / ranks, result.bytes_per_s / kMega));
  util::log(fmt::format("  wait for a batch {:.3f} ms, 95th percentile {:.3f} ms (the slowest rank's)",
                        result.wait * kMilli, result.wait_p95 * kMilli));
}

std::string to_json(const RunContext& run, const DataResult& result, std::int64_t batch_per_rank) {
  const int ranks = run.world().size();
  const nlohmann::ordered_json json = {{"samples_per_s", result.samples_per_s},
                                       {"samples_per_s_per_rank", result.samples_per_s / ranks},
                                       {"batch_per_rank", batch_per_rank},
                                       {"ranks", ranks},
                                       {"prefetch", run.loaded.config.data.prefetch},
                                       {"wait_ms", result.wait * kMilli},
                                       {"wait_p95_ms", result.wait_p95 * kMilli},
                                       {"bytes_per_s", result.bytes_per_s}};
  return json.dump(2) + "\n";
}

}  // namespace

std::string bench_data(RunContext& run) {
  const comm::Communicator& world = run.world();
  const config::Config& config = run.config();
  run.data = data::open_data_sets(config.data, config.run.seed, world, run.mpi->node());
  const train::Geometry geometry = plan_batches(run);
  const data::LoaderOptions options = train::training_options(config);
  const Steps steps = plan_steps(run.command_line, options.depth);
  world.barrier();
  const Delivery delivery =
      comm::agree(world, [&] { return take_batches(run.data->train, options, geometry, steps); });
  const auto bytes_per_sample =
      static_cast<double>(run.data->train.shape().numel()) * static_cast<double>(size_of(options.dtype));
  const DataResult result = summarize(world, delivery, bytes_per_sample);
  print(run, result, geometry, steps);
  return to_json(run, result, geometry.batch_per_rank());
}

}  // namespace kolo::app
