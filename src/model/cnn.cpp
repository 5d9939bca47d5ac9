// cnn: the reference convolutional network, 2,122,186 parameters for 3 x 32 x 32 images and 10 classes.
//
// conv1 3x3, ReLU, max-pool 2, conv2 3x3, ReLU, max-pool 2, flatten, fc1, fc2, with no activation after fc1.
// ReLU comes after the pool here: it is monotone, so values and gradients are the same, for a quarter of the
// work.
#include <ATen/ops/dropout.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/modules/conv.h>

#include "kolo/model/linear.hpp"
#include "kolo/model/registry.hpp"

namespace kolo::model {
namespace {

torch::nn::Conv2d conv3x3(std::int64_t in, std::int64_t out) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
}

class Cnn final : public Network {
 public:
  explicit Cnn(const ModelSpec& spec) : dropout_(spec.section.dropout) {
    conv1_ = register_module("conv1", conv3x3(spec.channels, 32));
    conv2_ = register_module("conv2", conv3x3(32, 64));
    fc1_ = register_module("fc1", std::make_shared<Linear>(64 * (spec.height / 4) * (spec.width / 4), 512));
    fc2_ = register_module("fc2", std::make_shared<Linear>(512, spec.classes));
  }

  at::Tensor forward(at::Tensor images) override {
    at::Tensor x = at::relu(at::max_pool2d(conv1_->forward(images), 2));
    x = at::relu(at::max_pool2d(conv2_->forward(x), 2));
    // Logical order (channel, row, column) whatever the memory format, so that fc1's weights mean the same in
    // all.
    x = x.flatten(1);
    if (dropout_ > 0) x = at::dropout(x, dropout_, is_training());
    return fc2_->forward(fc1_->forward(x));
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  double dropout_;
};

std::shared_ptr<Network> make(const ModelSpec& spec) { return std::make_shared<Cnn>(spec); }

const Registration kCnn("cnn", {make, Dropout::before_last_layer, 4});

}  // namespace
}  // namespace kolo::model
