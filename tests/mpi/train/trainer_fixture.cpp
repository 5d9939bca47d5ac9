#include "trainer_fixture.hpp"

#include <ATen/Context.h>

#include <algorithm>
#include <mutex>

#include "kolo/config/batch_geometry.hpp"
#include "kolo/model/registry.hpp"
#include "kolo/util/error.hpp"

namespace kolo::test {

config::Config small_config() {
  config::Config config;
  config.data.samples = 1007;
  config.data.test_samples = 203;
  config.data.channels = 1;
  config.data.height = config.data.width = 6;
  config.data.classes = 7;
  config.data.val_fraction = 0.1;
  config.model.name = "mlp";
  config.model.hidden = {24};
  config.train.epochs = 2;
  config.train.global_batch = 96;
  config.train.eval_batch = 50;
  config.optimizer.lr = 0.05;
  return config;
}

void Recorder::step_done(const train::RunState& state, double lr) {
  if (state.step_in_epoch == 1) before_ = {};
  losses.push_back((state.sums.loss - before_.loss) / (state.sums.samples - before_.samples));
  rates.push_back(lr);
  before_ = state.sums;
}
void Recorder::epoch_done(const std::vector<double>& row, bool /*is_best*/) { rows.push_back(row); }
void Recorder::save(std::function<io::CheckpointView()> make, std::int64_t /*step*/, bool /*is_best*/) {
  checkpoints.push_back(io::to_checkpoint(make()));
}
void Recorder::add_row(const std::vector<double>& /*row*/) {}
void Recorder::mark_best(std::int64_t /*step*/) {}
io::Checkpoint Recorder::load_best(std::int64_t step) {
  for (const io::Checkpoint& checkpoint : checkpoints) {
    if (std::get<std::int64_t>(checkpoint.progress.at("step")) == step) return checkpoint;
  }
  throw CheckpointError("no such step");
}

double column(const std::vector<double>& row, const std::string& name) {
  const auto& columns = train::metric_columns();
  return row.at(static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin()));
}

std::shared_ptr<model::Network> initial_network(const config::Config& config, const data::Dataset& set) {
  {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(static_cast<std::uint64_t>(config.run.seed));
  }
  auto network = model::make_network(
      {config.model, set.shape().channels, set.shape().height, set.shape().width, set.num_classes()});
  if (config.run.dtype == config::Dtype::fp64) network->to(at::kDouble);
  return network;
}

Training::Training(config::Config config, MPI_Comm parent, at::MemoryFormat format)
    : config_(std::move(config)),
      world_(comm::Communicator::duplicate(parent)),
      node_(world_.split_by_node()),
      data_(data::open_data_sets(config_.data, config_.run.seed, world_, node_)) {
  auto network = initial_network(config_, data_.train);
  if (format != at::MemoryFormat::Contiguous) network->set_memory_format(format);
  const std::int64_t least = network->batch_norms().empty() ? 1 : 2;
  geometry_ = std::make_unique<train::Geometry>(data_.train.size(),
                                                config::resolve_batch(config_.train, world_.size()),
                                                world_.rank(), world_.size(), least);
  const auto choice = train::choose_strategy(*network, config_, world_);
  replica_ = std::make_unique<train::Replica>(std::move(network), config_, choice.strategy, world_);
}

Training::~Training() {
  replica_->close();
  data_.close();
  node_.close();
  world_.close();
}

train::Outcome Training::run(const io::Checkpoint* resume_from, train::StopPoll poll, train::Keeper* keeper) {
  const bool root = world_.rank() == 0;
  Recorder* front = root ? &recorder : nullptr;
  if (keeper == nullptr || !root) keeper = front;
  if (front != nullptr && resume_from != nullptr) recorder.begin_at(train::load_state(resume_from->progress));
  train::TrainerOptions options;
  options.poll = poll ? std::move(poll) : [] { return train::StopFlags{}; };
  train::Trainer trainer(config_, *replica_, data_, *geometry_, world_, options, front, keeper);
  trainer.resume(front != nullptr ? resume_from : nullptr);
  return trainer.run();
}

}  // namespace kolo::test
