#include "kolo/train/replica.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kolo/comm/agree.hpp"
#include "kolo/comm/handshake.hpp"
#include "kolo/train/diverged_hint.hpp"
#include "kolo/train/tensor_bytes.hpp"
#include "kolo/util/array_kernels.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::train {
namespace {

std::vector<fusion::NamedParameter> named_parameters(const model::Network& network) {
  std::vector<fusion::NamedParameter> parameters;
  for (const auto& item : network.named_parameters())
    parameters.push_back({item.key(), item.value()});
  return fusion::unique_trainable(parameters);
}

// Gradients up to this size on every rank have a finite sum.
double largest_summand(DType type, int world_size) {
  const double largest = type == DType::f64 ? std::numeric_limits<double>::max()
                                            : static_cast<double>(std::numeric_limits<float>::max());
  return largest / world_size;
}

const io::NamedTensor& find(const std::vector<io::NamedTensor>& tensors, const std::string& what,
                            const std::string& name) {
  for (const io::NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw CheckpointError(fmt::format("the checkpoint has no {} {}", what, name),
                        "it belongs to another model");
}

void require_count(const std::vector<io::NamedTensor>& stored, std::size_t expected,
                   const std::string& what) {
  if (stored.size() == expected) return;
  throw CheckpointError(fmt::format("the checkpoint has {} {}s, expected {}", stored.size(), what, expected),
                        "it belongs to another model");
}

}  // namespace

fusion::BucketPlan plan_for(const model::Network& network, const config::CommSection& section) {
  const std::vector<fusion::NamedParameter> parameters = named_parameters(network);
  return fusion::plan_buckets(fusion::describe_parameters(parameters),
                              size_of(fusion::dtype_of_tensor(parameters.at(0).tensor)),
                              {section.first_bucket_mib, section.bucket_mib});
}

fusion::StrategyChoice choose_strategy(const model::Network& network, const config::Config& config,
                                       const comm::Communicator& world) {
  const fusion::BucketPlan plan = plan_for(network, config.comm);
  const DType type = config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  const std::size_t states = make_arena_optimizer(config.optimizer, plan, type)->state_names().size();
  return fusion::choose_strategy(config.comm.strategy, plan, type, states, world);
}

Replica::Replica(std::shared_ptr<model::Network> network, const config::Config& config,
                 config::Strategy strategy, const comm::Communicator& world, comm::Pulse pulse)
    : world_(world), pulse_(std::move(pulse)), network_(std::move(network)) {
  const std::vector<fusion::NamedParameter> parameters = named_parameters(*network_);
  type_ = fusion::dtype_of_tensor(parameters.at(0).tensor);
  plan_ = std::make_unique<fusion::BucketPlan>(plan_for(*network_, config.comm));
  comm::require_same(world, plan_->describe());
  optimizer_ = make_arena_optimizer(config.optimizer, *plan_, type_);
  exchange_ = fusion::make_exchange(strategy, *plan_, type_, optimizer_->state_names().size(), config.memory,
                                    world, world.split_by_node());
  arena_ = std::make_unique<fusion::Arena>(
      *plan_, parameters, exchange_->memory().parameters,
      exchange_->writes_parameters() ? fusion::Arena::Initial::write : fusion::Arena::Initial::adopt);
  hooks_ = std::make_unique<fusion::GradientHooks>(
      *arena_, exchange_->memory().gradients, largest_summand(type_, world.size()),
      [this](const fusion::Bucket& bucket) { exchange_bucket(bucket); });
  broadcast();
}

// From inside backward.
void Replica::exchange_bucket(const fusion::Bucket& bucket) const {
  pulse_.enter_bucket(&bucket - plan_->buckets.data());
  exchange_->reduce_bucket(bucket);
  pulse_.enter(comm::Phase::backward);
}

std::vector<fusion::NamedParameter> Replica::buffers() const {
  std::vector<fusion::NamedParameter> buffers;
  for (const auto& item : network_->named_buffers())
    buffers.push_back({item.key(), item.value()});
  return buffers;
}

void Replica::restore(const io::Checkpoint& checkpoint, Restore what) {
  const at::NoGradGuard no_grad;
  require_count(checkpoint.model, plan_->slots.size(), "parameter");
  require_count(checkpoint.buffers, buffers().size(), "buffer");
  const std::vector<std::string> states = optimizer_->state_names();
  for (std::size_t i = 0; i < plan_->slots.size(); ++i) {
    const std::string& name = plan_->slots[i].parameter.name;
    from_named(find(checkpoint.model, "parameter", name), "parameter", arena_->parameters()[i].tensor);
    if (what == Restore::weights_only) continue;
    for (std::size_t s = 0; s < states.size(); ++s) {
      const auto stored = checkpoint.optimizer.find(states[s]);
      if (stored == checkpoint.optimizer.end()) {
        throw CheckpointError(fmt::format("the checkpoint has no optimizer state {}", states[s]),
                              "it was made with another optimizer");
      }
      from_named(find(stored->second, "optimizer state " + states[s] + " of", name),
                 "optimizer state " + states[s] + " of", arena_->view(i, exchange_->memory().states[s]));
    }
  }
  for (const auto& [name, tensor] : buffers()) {
    from_named(find(checkpoint.buffers, "buffer", name), "buffer", tensor);
  }
}

void Replica::broadcast() {
  exchange_->broadcast_state();
  for (const auto& [name, tensor] : buffers())
    world_.broadcast(bytes_of(tensor), 0);
}

void Replica::require_equal(const comm::Communicator& world) const {
  util::Digest digest;
  digest.add(util::to_hex(exchange_->digest()));
  for (const auto& [name, tensor] : buffers())
    digest.add(bytes_of(tensor));
  const std::vector<std::int64_t> digests = world.all_gather(static_cast<std::int64_t>(digest.value()));
  std::vector<std::string> different;
  for (std::size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] != digests[0]) different.push_back(fmt::format("{}", rank));
  }
  comm::agree(world, [&] {
    if (different.empty()) return;
    throw CommError(
        fmt::format("the model of rank {} differs from rank 0's, expected the same bits on all ranks",
                    util::join(different, ", ")),
        "memory errors, or nodes whose MPI sums differently; resume from the last checkpoint");
  });
}

void Replica::require_finite(std::int64_t step) const {
  comm::agree(world_, [&] {
    for (const fusion::Slot& slot : plan_->slots) {
      const std::byte* first =
          exchange_->memory().parameters + static_cast<std::size_t>(slot.begin) * plan_->element_size;
      const double squares =
          type_ == DType::f64
              ? util::sum_of_squares(reinterpret_cast<const double*>(first), slot.parameter.count)
              : util::sum_of_squares(reinterpret_cast<const float*>(first), slot.parameter.count);
      if (std::isfinite(squares)) continue;
      throw DivergedError(fmt::format("after step {}: {} is not finite", step, slot.parameter.name),
                          kDivergedHint);
    }
  });
}

void Replica::close() {
  // What views the arena's memory goes before the memory.
  hooks_.reset();
  arena_.reset();
  network_.reset();
  exchange_->close();
}

}  // namespace kolo::train
