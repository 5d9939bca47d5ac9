#include "kolo/train/evaluate.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>
#include <array>
#include <memory>

#include "kolo/comm/agree.hpp"
#include "kolo/data/loader.hpp"
#include "kolo/train/loader_options.hpp"
#include "kolo/train/step.hpp"

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

Sums evaluate_share(model::Network& network, const data::Dataset& set, const config::Config& config, int rank,
                    int world_size) {
  const std::int64_t batch = config.train.eval_batch;
  std::int64_t begin = rank * batch;
  const auto requests = [&]() -> std::optional<data::BatchRequest> {
    if (begin >= set.size()) return std::nullopt;
    const data::BatchRequest request{0, begin, std::min(begin + batch, set.size())};
    begin += world_size * batch;
    return request;
  };
  data::Loader loader(set, evaluation_options(config), requests);
  Sums sums;
  while (const std::shared_ptr<data::Batch> item = loader.next()) {
    const auto [images, labels] = to_tensors(*item, network.memory_format());
    const at::Tensor logits = network.forward(images);
    sums += measure(logits, labels, at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum));
  }
  return sums;
}

}  // namespace

Sums evaluate(model::Network& network, const data::Dataset& set, const config::Config& config,
              const comm::Communicator& world) {
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(network);
  const Sums mine =
      comm::agree(world, [&] { return evaluate_share(network, set, config, world.rank(), world.size()); });
  std::array<double, 4> values = {mine.loss, mine.top1, mine.top5, mine.samples};
  world.all_reduce(values, comm::Op::sum);
  return {values[0], values[1], values[2], values[3]};
}

}  // namespace kolo::train
