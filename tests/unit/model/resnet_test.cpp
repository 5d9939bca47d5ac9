// The ResNets against torchvision's names and counts, and against a reading of the paper's figure in plain
// operators.
#include <ATen/Context.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kolo/model/registry.hpp"

namespace kolo::model {
namespace {

struct Variant {
  std::string name;
  std::vector<int> depths;
  int convolutions;         ///< in each block
  std::int64_t parameters;  ///< published, 1000 classes
};

const std::vector<Variant> kVariants = {{"resnet18", {2, 2, 2, 2}, 2, 11'689'512},
                                        {"resnet34", {3, 4, 6, 3}, 2, 21'797'672},
                                        {"resnet50", {3, 4, 6, 3}, 3, 25'557'032},
                                        {"resnet101", {3, 4, 23, 3}, 3, 44'549'160},
                                        {"resnet152", {3, 8, 36, 3}, 3, 60'192'808}};

ModelSpec spec_of(const std::string& name, std::int64_t classes, config::Stem stem = config::Stem::imagenet) {
  ModelSpec spec{{}, 3, 32, 32, classes};
  spec.section.name = name;
  spec.section.stem = stem;
  return spec;
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& parameter : network.parameters())
    count += parameter.numel();
  return count;
}

bool has_downsample(const Variant& variant, std::size_t layer, int block) {
  return block == 0 && (layer > 0 || variant.convolutions == 3);
}

/// Each convolution and its batch norm in torchvision's order, as prefix pairs.
std::vector<std::pair<std::string, std::string>> layer_names(const Variant& variant) {
  std::vector<std::pair<std::string, std::string>> names = {{"conv1", "bn1"}};
  for (std::size_t layer = 0; layer < 4; ++layer) {
    for (int block = 0; block < variant.depths[layer]; ++block) {
      const std::string prefix = "layer" + std::to_string(layer + 1) + "." + std::to_string(block) + ".";
      for (int i = 1; i <= variant.convolutions; ++i) {
        names.emplace_back(prefix + "conv" + std::to_string(i), prefix + "bn" + std::to_string(i));
      }
      if (has_downsample(variant, layer, block)) {
        names.emplace_back(prefix + "downsample.0", prefix + "downsample.1");
      }
    }
  }
  return names;
}

TEST(ResNet, ParameterAndBufferNamesAreTorchvisionsInItsOrder) {
  for (const Variant& variant : kVariants) {
    std::vector<std::string> parameters;
    std::vector<std::string> buffers;
    for (const auto& [conv, norm] : layer_names(variant)) {
      parameters.insert(parameters.end(), {conv + ".weight", norm + ".weight", norm + ".bias"});
      buffers.insert(buffers.end(),
                     {norm + ".running_mean", norm + ".running_var", norm + ".num_batches_tracked"});
    }
    parameters.insert(parameters.end(), {"fc.weight", "fc.bias"});
    const auto network = make_network(spec_of(variant.name, 10));
    EXPECT_EQ(network->named_parameters().keys(), parameters) << variant.name;
    EXPECT_EQ(network->named_buffers().keys(), buffers) << variant.name;
    EXPECT_EQ(network->batch_norms().size(), layer_names(variant).size()) << variant.name;
  }
}

TEST(ResNet, ParameterCountsAreThePublishedOnes) {
  for (const Variant& variant : kVariants) {
    EXPECT_EQ(parameter_count(*make_network(spec_of(variant.name, 1000))), variant.parameters)
        << variant.name;
  }
  EXPECT_EQ(parameter_count(*make_network(spec_of("resnet50", 10))), 23'528'522);
}

TEST(ResNet, InitialisationIsTorchvisions) {
  at::manual_seed(5);
  const auto network = make_network(spec_of("resnet18", 10));
  for (const auto& item : network->named_parameters()) {
    const at::Tensor& p = item.value();
    if (p.dim() == 4) {
      const double expected = std::sqrt(2.0 / static_cast<double>(p.size(0) * p.size(2) * p.size(3)));
      EXPECT_NEAR(p.std().item<double>() / expected, 1, 0.05) << item.key();
      EXPECT_NEAR(p.mean().item<double>() / expected, 0, 0.05) << item.key();
    } else if (item.key().starts_with("fc.")) {
      const double bound = 1 / std::sqrt(512.0);
      EXPECT_LE(p.abs().max().item<double>(), bound) << item.key();
      EXPECT_GT(p.abs().max().item<double>(), 0.7 * bound) << item.key();
    } else {
      EXPECT_TRUE((p == (item.key().ends_with("weight") ? 1 : 0)).all().item<bool>()) << item.key();
    }
  }
}

/// The network in evaluation, computed from its named tensors.
class Reading {
 public:
  Reading(const Network& network, const Variant& variant) : variant_(variant) {
    for (const auto& item : network.named_parameters())
      tensors_[item.key()] = item.value();
    for (const auto& item : network.named_buffers())
      tensors_[item.key()] = item.value();
  }

  at::Tensor forward(at::Tensor x, config::Stem stem) const {
    const bool imagenet = stem == config::Stem::imagenet;
    x = at::relu(conv_norm(x, "conv1", "bn1", imagenet ? 2 : 1, imagenet ? 3 : 1));
    if (imagenet) x = at::max_pool2d(x, 3, 2, 1);
    for (std::size_t layer = 0; layer < 4; ++layer) {
      for (int i = 0; i < variant_.depths[layer]; ++i)
        x = block(x, layer, i);
    }
    return at::linear(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1), tensors_.at("fc.weight"),
                      tensors_.at("fc.bias"));
  }

 private:
  at::Tensor conv_norm(const at::Tensor& x, const std::string& conv, const std::string& norm,
                       std::int64_t stride, std::int64_t padding) const {
    const at::Tensor y = at::conv2d(x, tensors_.at(conv + ".weight"), {}, stride, padding);
    return at::batch_norm(y, tensors_.at(norm + ".weight"), tensors_.at(norm + ".bias"),
                          tensors_.at(norm + ".running_mean"), tensors_.at(norm + ".running_var"), false, 0.1,
                          1e-5, false);
  }

  at::Tensor block(const at::Tensor& x, std::size_t layer, int index) const {
    const std::string prefix = "layer" + std::to_string(layer + 1) + "." + std::to_string(index) + ".";
    const std::int64_t stride = layer > 0 && index == 0 ? 2 : 1;
    at::Tensor y = x;
    for (int i = 1; i <= variant_.convolutions; ++i) {
      const std::string number = std::to_string(i);
      const bool three = variant_.convolutions == 2 || i == 2;
      const bool strided = variant_.convolutions == 2 ? i == 1 : i == 2;
      y = conv_norm(y, prefix + "conv" + number, prefix + "bn" + number, strided ? stride : 1, three ? 1 : 0);
      if (i < variant_.convolutions) y = at::relu(y);
    }
    const bool projected = has_downsample(variant_, layer, index);
    return at::relu(
        y + (projected ? conv_norm(x, prefix + "downsample.0", prefix + "downsample.1", stride, 0) : x));
  }

  Variant variant_;
  std::map<std::string, at::Tensor> tensors_;
};

TEST(ResNet, EvaluationEqualsThePlainReadingInBothStems) {
  const at::NoGradGuard no_grad;
  for (const std::size_t index : {0U, 2U}) {
    for (const auto stem : {config::Stem::imagenet, config::Stem::cifar}) {
      at::manual_seed(9);
      const auto network = make_network(spec_of(kVariants[index].name, 7, stem));
      for (BatchNorm2d* layer : network->batch_norms()) {
        layer->running_mean.copy_(at::randn({layer->channels()}) * 0.1);
        layer->running_var.copy_(at::rand({layer->channels()}) + 0.5);
      }
      network->to(at::kDouble);
      network->eval();
      const at::Tensor x = at::randn({2, 3, 35, 37}, at::kDouble);
      const at::Tensor expected = Reading(*network, kVariants[index]).forward(x, stem);
      ASSERT_EQ(expected.sizes(), (at::IntArrayRef{2, 7}));
      EXPECT_TRUE(at::allclose(network->forward(x), expected, 1e-10, 1e-12)) << kVariants[index].name;
    }
  }
}

TEST(ResNet, TrainingReachesEveryParameterInBothStemsAndTypes) {
  for (const char* name : {"resnet18", "resnet50"}) {
    for (const auto stem : {config::Stem::imagenet, config::Stem::cifar}) {
      const auto type = stem == config::Stem::cifar ? at::kFloat : at::kDouble;
      const auto network = make_network(spec_of(name, 5, stem));
      network->to(type);
      network->forward(at::randn({2, 3, 32, 32}, type)).square().sum().backward();
      for (const auto& item : network->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
      }
      for (const BatchNorm2d* layer : network->batch_norms())
        EXPECT_GE(layer->moments().count, 2);
    }
  }
}

TEST(ResNet, CifarStemKeepsTheResolutionOfSmallImages) {
  const auto network = make_network(spec_of("resnet18", 10, config::Stem::cifar));
  EXPECT_EQ(network->named_parameters()["conv1.weight"].sizes(), (at::IntArrayRef{64, 3, 3, 3}));
  network->forward(at::randn({2, 3, 32, 32}));
  EXPECT_EQ(network->batch_norms().front()->moments().count, 2 * 32 * 32);
  EXPECT_EQ(network->batch_norms().back()->moments().count, 2 * 4 * 4);
}

}  // namespace
}  // namespace kolo::model
