#include "kolo/app/plan.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "kolo/app/banner.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/batch_geometry.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/data/assemble.hpp"
#include "kolo/model/registry.hpp"
#include "kolo/optim/schedule.hpp"
#include "kolo/train/activation_memory.hpp"
#include "kolo/train/trainer.hpp"
#include "kolo/util/fault_point.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

using util::format_bytes;
using util::format_count;

std::string describe_data(const data::DataSets& data) {
  const data::Dataset& train = data.train;
  std::string line = fmt::format("{} train", format_count(train.size()));
  if (data.val) line += fmt::format(", {} validation", format_count(data.val->size()));
  line += data.test ? fmt::format(", {} test", format_count(data.test->size())) : ", no test";
  return line + fmt::format(" samples of {}, {} classes; {}", data::to_string(train.shape()),
                            train.num_classes(), train.description());
}

std::string describe_batch(const config::Config& config, const train::Geometry& geometry, int world_size) {
  const config::BatchGeometry batch = config::resolve_batch(config.train, world_size);
  const std::int64_t steps = geometry.steps_per_epoch();
  std::string line = fmt::format("global batch {}: {} rank{} x {} x {} pass{}; {} steps an epoch, {} in all",
                                 batch.global_batch, world_size, world_size == 1 ? "" : "s",
                                 batch.batch_per_rank, batch.accumulate, batch.accumulate == 1 ? "" : "es",
                                 format_count(steps), format_count(train::total_steps(config.train, steps)));
  if (geometry.skipped_tail() > 0) {
    line += fmt::format("; the last {} sample of an epoch is left out (batch norm needs two)",
                        geometry.skipped_tail());
  }
  return line;
}

std::string describe_rate(const config::Config& config, const train::Geometry& geometry) {
  const double lr = optim::scaled_lr(config.optimizer, geometry.global_batch());
  std::string line = fmt::format("{}, lr {:g}", config::name_of(config.optimizer.name), lr);
  if (lr != config.optimizer.lr) {
    line += fmt::format(" ({} of {:g} for batch {} / {})", config::name_of(config.optimizer.scale_lr),
                        config.optimizer.lr, geometry.global_batch(), config.optimizer.reference_batch);
  }
  const optim::Schedule schedule(config.schedule, lr, geometry.steps_per_epoch(),
                                 train::total_steps(config.train, geometry.steps_per_epoch()));
  if (schedule.warmup_steps() > 0) {
    line +=
        fmt::format(", {} steps of warm-up from {:g}", format_count(schedule.warmup_steps()), schedule.lr(0));
  }
  return line + fmt::format(", then {}", config::name_of(config.schedule.name));
}

std::string describe_exchange(const fusion::BucketPlan& plan, const fusion::StrategyChoice& choice) {
  std::vector<std::string> sizes;
  for (const fusion::Bucket& bucket : plan.buckets) {
    sizes.push_back(
        format_bytes(static_cast<double>(bucket.size()) * static_cast<double>(plan.element_size)));
  }
  constexpr std::size_t kShown = 6;
  const std::string more = sizes.size() > kShown ? ", ..." : "";
  const std::string listed = util::join(std::span(sizes).first(std::min(sizes.size(), kShown)), ", ");
  const std::string buckets =
      fmt::format("{} bucket{} ({}{})", sizes.size(), sizes.size() == 1 ? "" : "s", listed, more);
  const std::string note = choice.reason.empty() ? "" : fmt::format(" (fallback: {})", choice.reason);
  return fmt::format("{}{}, {}", config::name_of(choice.strategy), note, buckets);
}

// Where `shared` runs, weights and optimizer state are there once for all ranks of a node.
std::string describe_memory(const RunContext& run, model::Network& network, const fusion::BucketPlan& plan,
                            std::int64_t batch, config::Strategy strategy) {
  const DType type = run.loaded.config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  const double array = static_cast<double>(plan.size) * static_cast<double>(plan.element_size);
  const auto optimizer = train::make_arena_optimizer(run.loaded.config.optimizer, plan, type);
  const double states = array * static_cast<double>(optimizer->state_names().size());
  const double activations = train::activation_bytes(network, run.data->train.shape(), type, batch);
  const int ranks = run.mpi->node().size();
  const bool once = strategy == config::Strategy::shared;
  const double node = (array + states) * (once ? 1 : ranks) + (array + activations) * ranks;
  // Rank 0 copies the state, brings what is not in logical order into it, and builds the file from that.
  constexpr double kCopiesForCheckpoint = 3;
  return fmt::format(
      "arena and activations about {} a node: parameters {} and optimizer {} {}, gradients {} and "
      "activations {} a rank; checkpoints up to {} more on rank 0",
      format_bytes(node), format_bytes(array), format_bytes(states), once ? "once" : "a rank",
      format_bytes(array), format_bytes(activations), format_bytes(kCopiesForCheckpoint * (array + states)));
}

}  // namespace

std::shared_ptr<model::Network> build_network(const config::Config& config, const data::Dataset& set) {
  {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(static_cast<std::uint64_t>(config.run.seed));
  }
  const data::ImageShape shape = set.shape();
  auto network =
      model::make_network({config.model, shape.channels, shape.height, shape.width, set.num_classes()});
  if (config.run.dtype == config::Dtype::fp64) network->to(at::kDouble);
  if (config.model.memory_format != config::MemoryFormat::contiguous) {
    network->set_memory_format(at::MemoryFormat::ChannelsLast);
  }
  return network;
}

std::shared_ptr<model::Network> open_data_and_network(RunContext& run) {
  const config::Config& config = run.config();
  util::fault_point("opening");
  run.data = data::open_data_sets(config.data, config.run.seed, run.world(), run.mpi->node());
  return comm::agree(run.world(), [&] {
    if (config.train.early_stop_patience > 0 && !run.data->val) {
      throw ConfigError("train.early_stop_patience is set but there is no validation set",
                        "set data.val_fraction, for example to 0.05");
    }
    // What the loaders will be made of, so that its errors come before anything is written.
    const data::Assembler assembler(run.data->train, data::transform_of(config.data), 0);
    return build_network(config, run.data->train);
  });
}

train::Geometry plan_geometry(RunContext& run, const model::Network& network) {
  return comm::agree(run.world(), [&] {
    const config::BatchGeometry batch = config::resolve_batch(run.config().train, run.world().size());
    const std::int64_t least = network.batch_norms().empty() ? 1 : 2;
    if (batch.batch_per_rank < least) {
      throw ConfigError(fmt::format("{} sample in a forward pass, expected at least 2: {} has batch norm",
                                    batch.batch_per_rank, run.config().model.name),
                        "raise train.global_batch, or use fewer ranks or passes");
    }
    train::Geometry geometry(run.data->train.size(), batch, run.world().rank(), run.world().size(), least);
    if (geometry.steps_per_epoch() == 0) {
      throw DataError(fmt::format("{} training sample, expected at least 2: {} has batch norm",
                                  run.data->train.size(), run.config().model.name));
    }
    return geometry;
  });
}

std::vector<std::string> handshake_items(const RunContext& run) {
  std::vector<std::string> items = {version_text()};
  for (std::string& line : util::split(config::effective_deck(run.loaded.config), '\n')) {
    if (!line.empty() && line.front() != '#') items.push_back(std::move(line));
  }
  return items;
}

std::vector<std::string> describe_plan(const RunContext& run, model::Network& network,
                                       const train::Geometry& geometry,
                                       const fusion::StrategyChoice& choice) {
  const config::Config& config = run.loaded.config;
  const fusion::BucketPlan plan = train::plan_for(network, config.comm);
  return {"plan",
          "  data       " + describe_data(*run.data),
          fmt::format("  model      {}, {} parameters, {}", config.model.name,
                      format_count(plan.parameter_count()), config::name_of(config.run.dtype)),
          "  batch      " + describe_batch(config, geometry, run.world().size()),
          "  optimizer  " + describe_rate(config, geometry),
          "  exchange   " + describe_exchange(plan, choice),
          "  memory     " + describe_memory(run, network, plan, geometry.batch_per_rank(), choice.strategy)};
}

}  // namespace kolo::app
