// Our batch norm against torch::nn::BatchNorm2d.
#include "kolo/model/batch_norm.hpp"

#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kolo/util/error.hpp"

namespace kolo::model {
namespace {

constexpr std::int64_t kChannels = 5;

/// Ours and torch's layer with the same affine parameters, in one element type.
template <class T>
class BatchNorm : public testing::Test {
 protected:
  static constexpr double kTolerance = std::is_same_v<T, double> ? 1e-12 : 2e-6;
  static constexpr auto kType = c10::CppTypeToScalarType<T>::value;

  BatchNorm() {
    at::manual_seed(1);
    ours->to(kType);
    theirs->to(kType);
    const at::Tensor gain = at::randn({kChannels}, kType);
    const at::Tensor shift = at::randn({kChannels}, kType);
    ours->weight.set_data(gain.clone());
    ours->bias.set_data(shift.clone());
    theirs->weight.set_data(gain.clone());
    theirs->bias.set_data(shift.clone());
  }

  at::Tensor images(std::int64_t n, std::int64_t height = 3, std::int64_t width = 7) {
    const at::Tensor offset = at::randn({1, kChannels, 1, 1}, kType);
    return at::randn({n, kChannels, height, width}, kType) * 2 + offset;
  }

  void apply() {
    const Moments m = ours->moments();
    ours->apply_moments(m.count, m.sum, m.sum_sq);
    ours->reset_moments();
  }

  void expect_same_running_statistics() {
    EXPECT_TRUE(at::allclose(ours->running_mean, theirs->running_mean, kTolerance, kTolerance));
    EXPECT_TRUE(at::allclose(ours->running_var, theirs->running_var, kTolerance, kTolerance));
    EXPECT_EQ(ours->num_batches_tracked.template item<std::int64_t>(),
              theirs->num_batches_tracked.template item<std::int64_t>());
  }

  std::shared_ptr<BatchNorm2d> ours = std::make_shared<BatchNorm2d>(kChannels);
  torch::nn::BatchNorm2d theirs{kChannels};
};

using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(BatchNorm, ElementTypes);

TYPED_TEST(BatchNorm, TrainingOutputAndGradientsAreTorchs) {
  const at::Tensor x = this->images(4);
  const at::Tensor a = x.clone().requires_grad_();
  const at::Tensor b = x.clone().requires_grad_();
  const at::Tensor seed = at::randn_like(x);
  const at::Tensor ya = this->ours->forward(a);
  const at::Tensor yb = this->theirs->forward(b);
  EXPECT_TRUE(ya.equal(yb));
  ya.backward(seed);
  yb.backward(seed);
  EXPECT_TRUE(a.grad().equal(b.grad()));
  EXPECT_TRUE(this->ours->weight.grad().equal(this->theirs->weight.grad()));
  EXPECT_TRUE(this->ours->bias.grad().equal(this->theirs->bias.grad()));
}

TYPED_TEST(BatchNorm, TrainingForwardLeavesRunningStatisticsAlone) {
  this->ours->forward(this->images(4));
  EXPECT_TRUE(this->ours->running_mean.equal(at::zeros({kChannels}, this->kType)));
  EXPECT_TRUE(this->ours->running_var.equal(at::ones({kChannels}, this->kType)));
  EXPECT_EQ(this->ours->num_batches_tracked.template item<std::int64_t>(), 0);
}

TYPED_TEST(BatchNorm, OneMicroBatchAStepGivesTorchsRunningStatistics) {
  for (int step = 0; step < 4; ++step) {
    const at::Tensor x = this->images(3 + step);
    this->ours->forward(x);
    this->theirs->forward(x);
    this->apply();
    this->expect_same_running_statistics();
  }
}

TYPED_TEST(BatchNorm, ChannelsLastGivesTorchsRunningStatistics) {
  const at::Tensor x = this->images(4).contiguous(at::MemoryFormat::ChannelsLast);
  this->ours->forward(x);
  this->theirs->forward(x);
  this->apply();
  this->expect_same_running_statistics();
}

TYPED_TEST(BatchNorm, UnequalMicroBatchesTogetherGiveTheWholeBatchsStatistics) {
  const std::vector<at::Tensor> parts = {this->images(3), this->images(1), this->images(5)};
  for (const at::Tensor& part : parts)
    this->ours->forward(part);
  this->theirs->forward(at::cat(parts));
  this->apply();
  this->expect_same_running_statistics();
}

TYPED_TEST(BatchNorm, SumsOfTwoLayersAddUpLikeRanksDo) {
  const std::vector<at::Tensor> parts = {this->images(3), this->images(2)};
  const auto other = std::make_shared<BatchNorm2d>(kChannels);
  other->to(this->kType);
  this->ours->forward(parts[0]);
  other->forward(parts[1]);
  this->theirs->forward(at::cat(parts));
  const Moments a = this->ours->moments();
  const Moments b = other->moments();
  std::vector<double> sum(kChannels);
  std::vector<double> sum_sq(kChannels);
  for (std::size_t c = 0; c < sum.size(); ++c) {
    sum[c] = a.sum[c] + b.sum[c];
    sum_sq[c] = a.sum_sq[c] + b.sum_sq[c];
  }
  this->ours->apply_moments(a.count + b.count, sum, sum_sq);
  this->expect_same_running_statistics();
}

TYPED_TEST(BatchNorm, MomentumOfTheCallDecidesTheBlend) {
  this->theirs->options.momentum(0.3);
  const at::Tensor x = this->images(4);
  this->ours->forward(x);
  this->theirs->forward(x);
  const Moments m = this->ours->moments();
  this->ours->apply_moments(m.count, m.sum, m.sum_sq, 0.3);
  this->expect_same_running_statistics();
}

TYPED_TEST(BatchNorm, EvaluationUsesTheRunningStatistics) {
  const at::Tensor x = this->images(4);
  this->theirs->forward(x);
  this->ours->running_mean.copy_(this->theirs->running_mean);
  this->ours->running_var.copy_(this->theirs->running_var);
  this->ours->eval();
  this->theirs->eval();
  const at::Tensor one = this->images(1, 1, 1);
  EXPECT_TRUE(this->ours->forward(one).equal(this->theirs->forward(one)));
  EXPECT_EQ(this->ours->moments().count, 0);
}

TYPED_TEST(BatchNorm, ANanBatchDoesNotSpoilTheNextOne) {
  this->ours->forward(at::full({2, kChannels, 2, 2}, std::numeric_limits<double>::quiet_NaN(), this->kType));
  EXPECT_TRUE(std::isnan(this->ours->moments().sum[0]));
  this->ours->reset_moments();
  const at::Tensor x = this->images(4);
  this->ours->forward(x);
  this->theirs->forward(x);
  this->apply();
  this->expect_same_running_statistics();
}

TYPED_TEST(BatchNorm, TwoForwardsBeforeOneBackwardAreAllowed) {
  const at::Tensor x = this->images(4).requires_grad_();
  const at::Tensor y = this->images(2);
  const at::Tensor sum = this->ours->forward(x).square().sum() + this->ours->forward(y).square().sum();
  EXPECT_NO_THROW(sum.backward());
}

TYPED_TEST(BatchNorm, VarianceOfAConstantChannelIsNotNegative) {
  this->ours->forward(at::full({3, kChannels, 1, 1}, 0.1, this->kType));
  const Moments m = this->ours->moments();
  this->ours->apply_moments(m.count, m.sum, m.sum_sq, 1);
  EXPECT_TRUE((this->ours->running_var >= 0).all().template item<bool>());
}

TEST(BatchNorm2d, ParametersAndBuffersHaveTorchsNamesAndTypes) {
  const BatchNorm2d ours(kChannels);
  const torch::nn::BatchNorm2d theirs(kChannels);
  const auto expect_same = [](const auto& a, const auto& b) {
    ASSERT_EQ(a.keys(), b.keys());
    for (const auto& item : a) {
      EXPECT_TRUE(item.value().equal(b[item.key()])) << item.key();
      EXPECT_EQ(item.value().scalar_type(), b[item.key()].scalar_type()) << item.key();
    }
  };
  expect_same(ours.named_parameters(), theirs->named_parameters());
  expect_same(ours.named_buffers(), theirs->named_buffers());
}

TEST(BatchNorm2d, ChangingTheTypeKeepsTheCounterAnInteger) {
  const auto layer = std::make_shared<BatchNorm2d>(kChannels);
  layer->num_batches_tracked.fill_(16'777'217);
  layer->to(at::kDouble);
  layer->to(at::kCPU, at::kFloat);
  EXPECT_EQ(layer->num_batches_tracked.scalar_type(), at::kLong);
  EXPECT_EQ(layer->running_var.scalar_type(), at::kFloat);
}

TEST(BatchNorm2d, TrainingWithOneValueAChannelIsAnErrorAsInTorch) {
  BatchNorm2d ours(kChannels);
  torch::nn::BatchNorm2d theirs(kChannels);
  const at::Tensor x = at::randn({1, kChannels, 1, 1});
  EXPECT_THROW(ours.forward(x), ConfigError);
  EXPECT_ANY_THROW(theirs->forward(x));
}

TEST(BatchNorm2d, MomentsOfAnotherShapeOrOfOneValueAreRefused) {
  BatchNorm2d layer(kChannels);
  const std::vector<double> right(kChannels);
  const std::vector<double> wrong(kChannels + 1);
  EXPECT_THROW(layer.apply_moments(4, wrong, right), std::invalid_argument);
  EXPECT_THROW(layer.apply_moments(4, right, wrong), std::invalid_argument);
  EXPECT_THROW(layer.apply_moments(1, right, right), std::invalid_argument);
  EXPECT_EQ(layer.num_batches_tracked.item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace kolo::model
