// cnn and mlp against the same networks written down plainly, ReLU before the pool.
#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kolo/model/registry.hpp"

namespace kolo::model {
namespace {

ModelSpec spec_of(const std::string& name, std::int64_t channels, std::int64_t height, std::int64_t width,
                  std::int64_t classes) {
  ModelSpec spec{{}, channels, height, width, classes};
  spec.section.name = name;
  return spec;
}

std::vector<std::string> parameter_names(const Network& network) { return network.named_parameters().keys(); }

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& parameter : network.parameters())
    count += parameter.numel();
  return count;
}

/// Parameters as leaves of their own, by position: weight and bias of layer i at 2i and 2i + 1.
std::vector<at::Tensor> copies_of_parameters(const Network& network) {
  std::vector<at::Tensor> copies;
  for (const auto& parameter : network.parameters())
    copies.push_back(parameter.detach().clone().requires_grad_());
  return copies;
}

at::Tensor plain_cnn(const std::vector<at::Tensor>& p, at::Tensor x, double dropout) {
  for (std::size_t i = 0; i < 4; i += 2)
    x = at::max_pool2d(at::relu(at::conv2d(x, p[i], p[i + 1], 1, 1)), 2);
  x = at::dropout(x.contiguous().flatten(1), dropout, true);
  return at::linear(at::linear(x, p[4], p[5]), p[6], p[7]);
}

at::Tensor plain_mlp(const std::vector<at::Tensor>& p, at::Tensor x, double dropout) {
  x = x.contiguous().flatten(1);
  for (std::size_t i = 0; i + 2 < p.size(); i += 2)
    x = at::relu(at::linear(x, p[i], p[i + 1]));
  return at::linear(at::dropout(x, dropout, true), p[p.size() - 2], p[p.size() - 1]);
}

struct Tolerance {
  double fp32 = 2e-5;
  double fp64 = 1e-12;
};

void expect_same_training(const ModelSpec& spec,
                          at::Tensor (*plain)(const std::vector<at::Tensor>&, at::Tensor, double),
                          at::ScalarType type, at::MemoryFormat format) {
  at::manual_seed(3);
  const auto network = make_network(spec);
  network->to(type);
  const double tolerance = type == at::kDouble ? Tolerance{}.fp64 : Tolerance{}.fp32;
  const auto images = at::randn({5, spec.channels, spec.height, spec.width}, type).contiguous(format);
  const auto labels = at::randint(spec.classes, {5}, at::kLong);
  const auto reference = copies_of_parameters(*network);

  at::manual_seed(11);
  const at::Tensor ours = network->forward(images);
  at::manual_seed(11);
  const at::Tensor theirs = plain(reference, images, spec.section.dropout);
  ASSERT_EQ(ours.sizes(), (at::IntArrayRef{5, spec.classes}));
  EXPECT_TRUE(at::allclose(ours, theirs, tolerance, tolerance));

  at::cross_entropy_loss(ours, labels).backward();
  at::cross_entropy_loss(theirs, labels).backward();
  const auto parameters = network->named_parameters();
  for (std::size_t i = 0; i < reference.size(); ++i) {
    EXPECT_TRUE(at::allclose(parameters[i].value().grad(), reference[i].grad(), tolerance, tolerance))
        << parameters[i].key();
  }
}

struct Variant {
  at::ScalarType type;
  at::MemoryFormat format;
};

class PlainNetworks : public testing::TestWithParam<Variant> {};

TEST_P(PlainNetworks, CnnTrainsLikeReluBeforePool) {
  expect_same_training(spec_of("cnn", 3, 32, 32, 10), plain_cnn, GetParam().type, GetParam().format);
  expect_same_training(spec_of("cnn", 1, 28, 28, 3), plain_cnn, GetParam().type, GetParam().format);
  expect_same_training(spec_of("cnn", 2, 9, 15, 4), plain_cnn, GetParam().type, GetParam().format);
}

TEST_P(PlainNetworks, MlpTrainsLikePlainLayers) {
  expect_same_training(spec_of("mlp", 3, 5, 7, 10), plain_mlp, GetParam().type, GetParam().format);
}

TEST_P(PlainNetworks, DropoutStandsBeforeTheLastLayers) {
  for (const bool cnn : {true, false}) {
    ModelSpec spec = spec_of(cnn ? "cnn" : "mlp", 3, 9, 8, 10);
    spec.section.dropout = 0.4;
    expect_same_training(spec, cnn ? plain_cnn : plain_mlp, GetParam().type, GetParam().format);
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndFormats, PlainNetworks,
                         testing::Values(Variant{at::kFloat, at::MemoryFormat::Contiguous},
                                         Variant{at::kFloat, at::MemoryFormat::ChannelsLast},
                                         Variant{at::kDouble, at::MemoryFormat::Contiguous},
                                         Variant{at::kDouble, at::MemoryFormat::ChannelsLast}));

TEST(Cnn, HasTheReferenceNamesAndCount) {
  const auto network = make_network(spec_of("cnn", 3, 32, 32, 10));
  EXPECT_EQ(parameter_names(*network),
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                      "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  EXPECT_EQ(parameter_count(*network), 2'122'186);
  EXPECT_TRUE(network->batch_norms().empty());
}

TEST(Cnn, SmallestImageIsFourByFour) {
  const auto network = make_network(spec_of("cnn", 1, 4, 4, 2));
  EXPECT_EQ(network->forward(at::randn({3, 1, 4, 4})).sizes(), (at::IntArrayRef{3, 2}));
}

TEST(Mlp, HiddenWidthsNameAndSizeTheLayers) {
  ModelSpec spec = spec_of("mlp", 1, 4, 5, 3);
  spec.section.hidden = {7, 9};
  const auto network = make_network(spec);
  EXPECT_EQ(parameter_names(*network), (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight",
                                                                 "fc2.bias", "fc3.weight", "fc3.bias"}));
  EXPECT_EQ(parameter_count(*network), (20 + 1) * 7 + (7 + 1) * 9 + (9 + 1) * 3);
}

TEST(Mlp, WithoutHiddenLayersIsLinear) {
  ModelSpec spec = spec_of("mlp", 1, 4, 5, 3);
  spec.section.hidden = {};
  const auto network = make_network(spec);
  EXPECT_EQ(parameter_names(*network), (std::vector<std::string>{"fc1.weight", "fc1.bias"}));
  EXPECT_EQ(network->forward(at::randn({2, 1, 4, 5})).sizes(), (at::IntArrayRef{2, 3}));
}

TEST(PlainNetworksInEvaluation, IgnoreDropout) {
  for (const char* name : {"cnn", "mlp"}) {
    ModelSpec spec = spec_of(name, 1, 8, 8, 3);
    spec.section.dropout = 0.5;
    const auto network = make_network(spec);
    network->eval();
    const at::Tensor x = at::randn({2, 1, 8, 8});
    EXPECT_TRUE(network->forward(x).equal(network->forward(x))) << name;
  }
}

}  // namespace
}  // namespace kolo::model
