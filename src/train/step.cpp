#include "kolo/train/step.hpp"

#include <ATen/Context.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <optional>

#include "kolo/comm/agree.hpp"
#include "kolo/optim/clip.hpp"
#include "kolo/train/diverged_hint.hpp"
#include "kolo/util/fault_point.hpp"
#include "kolo/util/strings.hpp"
#include "kolo/util/time.hpp"

namespace kolo::train {
namespace {

std::size_t moment_count(const model::Network& network) {
  std::size_t count = 0;
  for (const model::BatchNorm2d* layer : network.batch_norms()) {
    count += 1 + 2 * static_cast<std::size_t>(layer->channels());
  }
  return count;
}

void seed_generator(std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  data += other.data;
  forward += other.forward;
  backward += other.backward;
  exchange += other.exchange;
  update += other.update;
  return *this;
}

BatchTensors to_tensors(data::Batch& batch, at::MemoryFormat format) {
  const data::ImageShape& shape = batch.shape;
  const auto type = batch.dtype == DType::f64 ? at::kDouble : at::kFloat;
  const at::Tensor images =
      at::from_blob(batch.images.data(), {batch.count, shape.channels, shape.height, shape.width},
                    at::TensorOptions().dtype(type));
  return {images.contiguous(format),
          at::from_blob(batch.labels.data(), {batch.count}, at::TensorOptions().dtype(at::kLong))};
}

TrainStep::TrainStep(Replica& replica, const config::TrainSection& section, const comm::Communicator& world)
    : replica_(replica), section_(section), world_(world), control_(moment_count(replica.network())) {}

StepResult TrainStep::run(const BatchSource& source, const StepRequest& request) {
  StepResult result;
  std::exception_ptr error;
  control_.clear();
  control_.set_stop(request.stop);
  loss_finite_ = true;
  replica_.hooks().begin_step();
  const fusion::ExchangeTimes before = replica_.exchange().times();
  seed_generator(request.random_seed);
  std::string place;
  replica_.pulse().enter_step(request.step + 1);
  try {
    control_.set_sums(compute(source, request, result.times));
  } catch (const CommError&) {
    throw;  // MPI itself failed: no collective call can follow
  } catch (...) {
    error = std::current_exception();
    place = comm::describe(replica_.pulse().place());
    replica_.hooks().contribute_zeros();
    control_.set_failed();
  }
  if (!error && (!replica_.hooks().finite() || !loss_finite_)) control_.set_nonfinite();
  replica_.pulse().enter(comm::Phase::exchange);
  finish(request);
  if (control_.failed()) comm::throw_together(world_, error, place);
  const bool nonfinite = control_.nonfinite() || !norm_finite_;
  if (nonfinite && section_.on_nonfinite == config::OnNonfinite::stop) throw_if_diverged(request);
  if (applied_) apply_moments();

  result.sums = control_.sums();
  result.applied = applied_;
  result.stop = control_.stop();
  const fusion::ExchangeTimes after = replica_.exchange().times();
  result.times.exchange += after.exchange - before.exchange;
  result.times.update = after.update - before.update;
  return result;
}

Sums TrainStep::compute(const BatchSource& source, const StepRequest& request, StepTimes& times) {
  Sums sums;
  model::Network& network = replica_.network();
  for (model::BatchNorm2d* layer : network.batch_norms())
    layer->reset_moments();
  if (request.micro_batches == 0) replica_.hooks().contribute_zeros();
  for (std::size_t i = 0; i < request.micro_batches; ++i) {
    util::Stopwatch watch;
    replica_.pulse().enter(comm::Phase::data);
    const std::shared_ptr<data::Batch> batch = source();
    times.data += watch.lap();
    replica_.pulse().enter(comm::Phase::forward);
    util::fault_point("forward");
    const auto [images, labels] = to_tensors(*batch, network.memory_format());
    const at::Tensor logits = network.forward(images);
    const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum,
                                                   /*ignore_index=*/-100, section_.label_smoothing);
    sums += measure(logits, labels, loss);
    times.forward += watch.lap();

    replica_.pulse().enter(comm::Phase::backward);
    const bool last = i + 1 == request.micro_batches;
    if (last) replica_.hooks().arm();
    const double hooked_before = replica_.hooks().seconds();
    const double exchanged_before = replica_.exchange().times().exchange;
    (loss / static_cast<double>(request.global_samples)).backward();
    if (last) replica_.hooks().require_complete();
    const double hooked = replica_.hooks().seconds() - hooked_before;
    times.backward += watch.lap() - hooked;
    // The copies into the arena are a part of the exchange; what it did itself it counts itself.
    times.exchange += hooked - (replica_.exchange().times().exchange - exchanged_before);
  }
  loss_finite_ = std::isfinite(sums.loss);
  return sums;
}

void TrainStep::finish(const StepRequest& request) {
  std::span<double> moments = control_.moments();
  for (const model::BatchNorm2d* layer : replica_.network().batch_norms()) {
    const model::Moments own = layer->moments();
    moments[0] = own.count;
    std::copy(own.sum.begin(), own.sum.end(), moments.begin() + 1);
    std::copy(own.sum_sq.begin(), own.sum_sq.end(), moments.begin() + 1 + layer->channels());
    moments = moments.subspan(1 + 2 * static_cast<std::size_t>(layer->channels()));
  }
  applied_ = false;
  norm_finite_ = true;
  fusion::StepActions actions;
  actions.needs_norm = section_.clip_norm > 0;
  actions.decide = [&](std::span<const double>, double square_norm) -> std::optional<double> {
    if (control_.failed() || control_.nonfinite()) return std::nullopt;
    norm_finite_ = section_.clip_norm == 0 || std::isfinite(square_norm);
    if (!norm_finite_) return std::nullopt;
    applied_ = true;
    replica_.pulse().enter(comm::Phase::update);
    return section_.clip_norm > 0 ? optim::clip_scale(std::sqrt(square_norm), section_.clip_norm) : 1.0;
  };
  actions.update = [&](std::int64_t begin, std::int64_t end, const std::byte* gradients, double scale) {
    replica_.optimizer().update(replica_.exchange().memory(), begin, end, gradients,
                                {request.lr, request.update, scale});
  };
  replica_.exchange().finish_step(control_.values(), actions);
}

void TrainStep::apply_moments() {
  std::span<const double> moments = control_.moments();
  for (model::BatchNorm2d* layer : replica_.network().batch_norms()) {
    const auto channels = static_cast<std::size_t>(layer->channels());
    layer->apply_moments(moments[0], moments.subspan(1, channels), moments.subspan(1 + channels, channels));
    moments = moments.subspan(1 + 2 * channels);
  }
}

void TrainStep::throw_if_diverged(const StepRequest& request) {
  comm::agree(world_, [&] {
    std::vector<std::string> what;
    if (!loss_finite_) what.emplace_back("the loss");
    if (!replica_.hooks().finite()) what.push_back("the gradient of " + replica_.hooks().first_nonfinite());
    if (!norm_finite_) what.emplace_back("the norm of the summed gradient");
    if (what.empty()) return;
    throw DivergedError(
        fmt::format("step {}: {} {} not finite on rank {}", request.step + 1, util::join(what, " and "),
                    what.size() == 1 ? "is" : "are", world_.rank()),
        std::string(kDivergedHint) + (section_.on_nonfinite == config::OnNonfinite::skip ? "" : kSkipHint));
  });
}

}  // namespace kolo::train
