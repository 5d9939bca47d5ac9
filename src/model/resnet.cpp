// resnet18 ... resnet152 (He et al., arXiv:1512.03385) with torchvision's names, registration order and
// initialisation.
//
// As in torchvision the bottleneck's stride is on its 3x3 convolution ("V1.5").  model.stem = cifar replaces
// the 7x7 stride 2 convolution and the max-pool by a 3x3 stride 1 convolution, for images of about 32 x 32.
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/sequential.h>

#include <array>
#include <memory>
#include <string>

#include "kolo/model/convolution.hpp"
#include "kolo/model/linear.hpp"
#include "kolo/model/registry.hpp"

namespace kolo::model {
namespace {

using ConvolutionPtr = std::shared_ptr<Convolution>;

ConvolutionPtr conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return std::make_shared<Convolution>(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// A residual block: relu(branch(x) + shortcut(x)).
class Block : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = branch(x);
    y += downsample_ ? downsample_->forward(x) : x;
    return at::relu_(y);
  }

 protected:
  /// 1x1 convolution and batch norm on the shortcut where the shape changes; to be called last.
  void add_downsample(std::int64_t in, std::int64_t out, std::int64_t stride) {
    if (stride == 1 && in == out) return;
    downsample_ = register_module(
        "downsample", torch::nn::Sequential(conv(in, out, 1, stride), std::make_shared<BatchNorm2d>(out)));
  }

 private:
  virtual at::Tensor branch(const at::Tensor& x) = 0;

  torch::nn::Sequential downsample_{nullptr};
};

class BasicBlock final : public Block {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride) {
    conv1_ = register_module("conv1", conv(in, width, 3, stride));
    bn1_ = register_module("bn1", std::make_shared<BatchNorm2d>(width));
    conv2_ = register_module("conv2", conv(width, width, 3, 1));
    bn2_ = register_module("bn2", std::make_shared<BatchNorm2d>(width));
    add_downsample(in, width, stride);
  }

 private:
  at::Tensor branch(const at::Tensor& x) override {
    at::Tensor y = bn1_->forward(conv1_->forward(x));
    return bn2_->forward(conv2_->forward(at::relu_(y)));
  }

  ConvolutionPtr conv1_;
  ConvolutionPtr conv2_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<BatchNorm2d> bn2_;
};

class Bottleneck final : public Block {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride) {
    const std::int64_t out = width * kExpansion;
    conv1_ = register_module("conv1", conv(in, width, 1, 1));
    bn1_ = register_module("bn1", std::make_shared<BatchNorm2d>(width));
    conv2_ = register_module("conv2", conv(width, width, 3, stride));
    bn2_ = register_module("bn2", std::make_shared<BatchNorm2d>(width));
    conv3_ = register_module("conv3", conv(width, out, 1, 1));
    bn3_ = register_module("bn3", std::make_shared<BatchNorm2d>(out));
    add_downsample(in, out, stride);
  }

 private:
  at::Tensor branch(const at::Tensor& x) override {
    at::Tensor y = bn1_->forward(conv1_->forward(x));
    y = bn2_->forward(conv2_->forward(at::relu_(y)));
    return bn3_->forward(conv3_->forward(at::relu_(y)));
  }

  ConvolutionPtr conv1_;
  ConvolutionPtr conv2_;
  ConvolutionPtr conv3_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<BatchNorm2d> bn2_;
  std::shared_ptr<BatchNorm2d> bn3_;
};

using Depths = std::array<std::int64_t, 4>;  ///< blocks in layer1 ... layer4

template <class BlockType>
class ResNet final : public Network {
 public:
  ResNet(const ModelSpec& spec, const Depths& depths) : stem_(spec.section.stem) {
    const bool small_images = stem_ == config::Stem::cifar;
    conv1_ = register_module("conv1",
                             small_images ? conv(spec.channels, 64, 3, 1) : conv(spec.channels, 64, 7, 2));
    bn1_ = register_module("bn1", std::make_shared<BatchNorm2d>(64));
    std::int64_t in = 64;
    for (std::size_t i = 0; i < depths.size(); ++i) {
      layers_[i] = register_module("layer" + std::to_string(i + 1), torch::nn::Sequential());
      const std::int64_t width = 64 << i;
      for (std::int64_t block = 0; block < depths[i]; ++block) {
        layers_[i]->push_back(std::make_shared<BlockType>(in, width, i > 0 && block == 0 ? 2 : 1));
        in = width * BlockType::kExpansion;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(in, spec.classes));
    initialise_convolutions();
  }

  at::Tensor forward(at::Tensor images) override {
    at::Tensor x = bn1_->forward(conv1_->forward(images));
    at::relu_(x);
    if (stem_ == config::Stem::imagenet) x = at::max_pool2d(x, 3, 2, 1);
    for (auto& layer : layers_)
      x = layer->forward(x);
    return fc_->forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  void initialise_convolutions() {
    for (const auto& module : this->modules(/*include_self=*/false)) {
      if (auto* layer = module->template as<Convolution>()) {
        torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  config::Stem stem_;
  ConvolutionPtr conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::array<torch::nn::Sequential, 4> layers_{nullptr, nullptr, nullptr, nullptr};
  std::shared_ptr<Linear> fc_;
};

template <class BlockType, std::int64_t... depths>
std::shared_ptr<Network> make(const ModelSpec& spec) {
  return std::make_shared<ResNet<BlockType>>(spec, Depths{depths...});
}

const Registration kResNet18("resnet18", {make<BasicBlock, 2, 2, 2, 2>});
const Registration kResNet34("resnet34", {make<BasicBlock, 3, 4, 6, 3>});
const Registration kResNet50("resnet50", {make<Bottleneck, 3, 4, 6, 3>});
const Registration kResNet101("resnet101", {make<Bottleneck, 3, 4, 23, 3>});
const Registration kResNet152("resnet152", {make<Bottleneck, 3, 8, 36, 3>});

}  // namespace
}  // namespace kolo::model
