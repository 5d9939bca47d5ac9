// The oracle is libtorch's own convolution, in fp64.
#include "kolo/model/convolution.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <ostream>

namespace kolo::model {
namespace {

struct Case {
  std::int64_t height, width, kernel, stride, padding;
  bool bias;
  at::MemoryFormat format;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.height << "x" << c.width << " k" << c.kernel << " s" << c.stride << " p" << c.padding
               << (c.bias ? " bias " : " ") << c.format;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const bool bias : {false, true}) {
      all.push_back({1, 1, 3, 1, 1, bias, format});  // one tap of nine
      all.push_back({2, 2, 3, 2, 1, bias, format});  // four of nine
      all.push_back({2, 2, 3, 1, 1, bias, format});  // four of nine, four outputs
      all.push_back({2, 1, 3, 1, 1, bias, format});
      all.push_back({1, 2, 5, 1, 2, bias, format});
      all.push_back({1, 1, 3, 1, 3, bias, format});  // outputs that see padding only
      all.push_back({1, 2, 3, 2, 1, bias, format});
      all.push_back({3, 3, 3, 1, 0, bias, format});  // all taps, one output
      all.push_back({4, 4, 3, 2, 0, bias, format});  // the last row and column are not read
      all.push_back({2, 3, 7, 2, 3, bias, format});  // more than one output: an ordinary convolution
      all.push_back({1, 1, 1, 2, 0, bias, format});
      all.push_back({2, 2, 1, 2, 0, bias, format});
      all.push_back({5, 4, 3, 1, 1, bias, format});
      all.push_back({1, 3, 3, 1, 1, bias, format});  // one row, several columns
      all.push_back({2, 2, 4, 1, 1, bias, format});
    }
  }
  return all;
}

at::Tensor leaf(const at::Tensor& tensor, at::MemoryFormat format) {
  return tensor.detach().clone(format).set_requires_grad(true);
}

class AgainstLibtorch : public testing::TestWithParam<Case> {};

TEST_P(AgainstLibtorch, ValuesAndGradientsAreTheSame) {
  const Case c = GetParam();
  constexpr std::int64_t kIn = 5, kOut = 6, kSamples = 3;
  Convolution layer(
      torch::nn::Conv2dOptions(kIn, kOut, c.kernel).stride(c.stride).padding(c.padding).bias(c.bias));
  layer.to(at::kDouble);
  layer.weight.set_data(layer.weight.contiguous(c.format));
  const at::Tensor images = at::randn({kSamples, kIn, c.height, c.width}, at::kDouble);
  const at::Tensor x = leaf(images, c.format), same_x = leaf(images, c.format);
  const at::Tensor weight = leaf(layer.weight, at::MemoryFormat::Contiguous);
  const at::Tensor bias = c.bias ? leaf(layer.bias, at::MemoryFormat::Contiguous) : at::Tensor();

  const at::Tensor y = layer.forward(x);
  const at::Tensor expected = at::conv2d(same_x, weight, bias, c.stride, c.padding);
  ASSERT_EQ(y.sizes(), expected.sizes());
  EXPECT_TRUE(y.allclose(expected, 1e-12, 1e-12));

  const at::Tensor direction = at::randn(y.sizes(), at::kDouble);
  (y * direction).sum().backward();
  (expected * direction).sum().backward();
  EXPECT_TRUE(x.grad().allclose(same_x.grad(), 1e-12, 1e-12));
  EXPECT_TRUE(layer.weight.grad().allclose(weight.grad(), 1e-12, 1e-12));
  if (c.bias) {
    EXPECT_TRUE(layer.bias.grad().allclose(bias.grad(), 1e-12, 1e-12));
  }
}

INSTANTIATE_TEST_SUITE_P(Convolution, AgainstLibtorch, testing::ValuesIn(cases()));

TEST(Convolution, UntouchedTapsHaveAGradientOfExactlyZero) {
  Convolution layer(torch::nn::Conv2dOptions(4, 4, 3).padding(1).bias(false));
  layer.weight.set_data(layer.weight.contiguous(at::MemoryFormat::ChannelsLast));
  layer.forward(at::randn({2, 4, 1, 1})).square().sum().backward();
  at::Tensor gradient = layer.weight.grad().clone();
  gradient.select(3, 1).select(2, 1).zero_();
  EXPECT_EQ(gradient.abs().max().item<float>(), 0);
  EXPECT_GT(layer.weight.grad().abs().max().item<float>(), 0);
}

TEST(Convolution, AnImageSmallerThanTheKernelIsRefusedAsByLibtorch) {
  Convolution layer(torch::nn::Conv2dOptions(1, 1, 5));
  EXPECT_THROW(layer.forward(at::randn({1, 1, 3, 3})), c10::Error);
}

}  // namespace
}  // namespace kolo::model
