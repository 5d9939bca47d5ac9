// mlp: flatten, then linear layers fc1 ... fcN with ReLU between them; model.hidden gives the widths between.
#include <ATen/ops/dropout.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kolo/model/linear.hpp"
#include "kolo/model/registry.hpp"
#include "kolo/util/error.hpp"

namespace kolo::model {
namespace {

class Mlp final : public Network {
 public:
  explicit Mlp(const ModelSpec& spec) : dropout_(spec.section.dropout) {
    std::int64_t width = spec.channels * spec.height * spec.width;
    for (const std::int64_t hidden : spec.section.hidden) {
      add(width, hidden);
      width = hidden;
    }
    add(width, spec.classes);
  }

  at::Tensor forward(at::Tensor images) override {
    at::Tensor x = images.flatten(1);
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i)
      x = at::relu(layers_[i]->forward(x));
    if (dropout_ > 0) x = at::dropout(x, dropout_, is_training());
    return layers_.back()->forward(x);
  }

 private:
  void add(std::int64_t in, std::int64_t out) {
    layers_.push_back(
        register_module(fmt::format("fc{}", layers_.size() + 1), std::make_shared<Linear>(in, out)));
  }

  std::vector<std::shared_ptr<Linear>> layers_;
  double dropout_;
};

std::shared_ptr<Network> make(const ModelSpec& spec) {
  const auto& hidden = spec.section.hidden;
  if (std::any_of(hidden.begin(), hidden.end(), [](std::int64_t width) { return width < 1; })) {
    throw ConfigError(
        fmt::format("model.hidden = {}: expected widths of at least 1", fmt::join(hidden, ",")));
  }
  return std::make_shared<Mlp>(spec);
}

const Registration kMlp("mlp", {make, Dropout::before_last_layer});

}  // namespace
}  // namespace kolo::model
