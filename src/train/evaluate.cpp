#include "kolo/train/evaluate.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <span>

#include "kolo/comm/agree.hpp"
#include "kolo/data/loader.hpp"
#include "kolo/train/loader_options.hpp"
#include "kolo/train/step.hpp"
#include "kolo/util/fault_point.hpp"

namespace kolo::train {
namespace {

class EvaluationMode {
 public:
  explicit EvaluationMode(model::Network& network) : network_(network) { network_.eval(); }
  ~EvaluationMode() { network_.train(); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  model::Network& network_;
};

// The batches of this rank: every world_size-th of the set.
data::Loader::NextRequest deal(std::int64_t samples, std::int64_t batch, int rank, int world_size) {
  return [=, begin = rank * batch]() mutable -> std::optional<data::BatchRequest> {
    if (begin >= samples) return std::nullopt;
    const data::BatchRequest request{0, begin, std::min(begin + batch, samples)};
    begin += world_size * batch;
    return request;
  };
}

Sums evaluate_batch(model::Network& network, data::Batch& batch) {
  const auto [images, labels] = to_tensors(batch, network.memory_format());
  const at::Tensor logits = network.forward(images);
  return measure(logits, labels, at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum));
}

}  // namespace

Evaluation evaluate(model::Network& network, const data::Dataset& set, const config::Config& config,
                    const comm::Communicator& world, const StopPoll& poll, const comm::Pulse& pulse) {
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(network);
  const std::int64_t batch = config.train.eval_batch;
  pulse.enter(comm::Phase::evaluation);
  const auto loader = comm::agree(world, [&] {
    return std::make_unique<data::Loader>(set, evaluation_options(config),
                                          deal(set.size(), batch, world.rank(), world.size()));
  });
  Evaluation result;
  const std::int64_t batches = (set.size() + batch - 1) / batch;
  for (std::int64_t done = 0; done < batches && result.stop.none(); done += world.size()) {
    std::exception_ptr error;
    try {
      util::fault_point("evaluation");
      if (const std::shared_ptr<data::Batch> item = loader->next())
        result.sums += evaluate_batch(network, *item);
    } catch (...) {
      error = std::current_exception();
    }
    const std::string place = comm::describe(pulse.place());
    pulse.enter(comm::Phase::exchange);
    // Whether a rank failed, then the causes to stop.
    std::array<double, 1 + kStopCauses> message = {error ? 1.0 : 0.0};
    write_flags(poll(), std::span(message).subspan(1));
    world.all_reduce(message, comm::Op::max);
    if (message[0] > 0) comm::throw_together(world, error, place);
    result.stop = read_flags(std::span(message).subspan(1));
    pulse.enter(comm::Phase::evaluation);
  }
  std::array<double, 4> values = {result.sums.loss, result.sums.top1, result.sums.top5, result.sums.samples};
  world.all_reduce(values, comm::Op::sum);
  result.sums = {values[0], values[1], values[2], values[3]};
  return result;
}

}  // namespace kolo::train
