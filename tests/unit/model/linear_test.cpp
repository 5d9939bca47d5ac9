// The oracle is libtorch's own product in fp64; on processors without the kernels both sides are libtorch's.
#include "kolo/model/linear.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace kolo::model {
namespace {

// Of sums of n products of numbers around 1, in fp32.
double rounding(std::int64_t n) { return 8e-6 * std::sqrt(static_cast<double>(n)); }

struct Results {
  at::Tensor y, x_gradient, weight_gradient, bias_gradient;
};

Results run(Linear& layer, const at::Tensor& images, const at::Tensor& direction) {
  const at::Tensor x = images.detach().clone().set_requires_grad(true);
  layer.zero_grad();
  const at::Tensor y = layer.forward(x);
  (y * direction).sum().backward();
  return {y.detach(), x.grad(), layer.weight.grad().clone(), layer.bias.grad().clone()};
}

class Sizes : public testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(Sizes, ValuesAndGradientsAreThoseOfADoublePrecisionProduct) {
  const auto [samples, in, out] = GetParam();
  Linear layer(in, out);
  layer.weight.set_data(at::randn({out, in}));
  const at::Tensor x = at::randn({samples, in}), direction = at::randn({samples, out});
  const Results results = run(layer, x, direction);
  const at::Tensor wide_x = x.to(at::kDouble), wide_g = direction.to(at::kDouble);
  const at::Tensor wide_w = layer.weight.detach().to(at::kDouble);
  const auto error = [](const at::Tensor& found, const at::Tensor& expected) {
    EXPECT_EQ(found.sizes(), expected.sizes());
    return (found.to(at::kDouble) - expected).abs().max().item<double>();
  };
  EXPECT_LT(error(results.y, at::linear(wide_x, wide_w, layer.bias.detach().to(at::kDouble))), rounding(in));
  EXPECT_LT(error(results.x_gradient, wide_g.mm(wide_w)), rounding(out));
  EXPECT_LT(error(results.weight_gradient, wide_g.t().mm(wide_x)), rounding(samples));
  EXPECT_LT(error(results.bias_gradient, wide_g.sum(0)), rounding(samples));
}

// Whole blocks, one more, one less; below and above what the kernels are for.
INSTANTIATE_TEST_SUITE_P(
    Linear, Sizes,
    testing::Values(std::array<std::int64_t, 3>{16, 4096, 512}, std::array<std::int64_t, 3>{32, 4096, 512},
                    std::array<std::int64_t, 3>{1, 4096, 512}, std::array<std::int64_t, 3>{7, 1025, 129},
                    std::array<std::int64_t, 3>{127, 511, 257}, std::array<std::int64_t, 3>{129, 1024, 64},
                    std::array<std::int64_t, 3>{3, 5, 2}));

TEST(Linear, GivesTheSameBitsForAnyNumberOfThreads) {
  Linear layer(1100, 300);
  const at::Tensor x = at::randn({40, 1100}), direction = at::randn({40, 300});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Results one = run(layer, x, direction);
  at::set_num_threads(3);
  const Results three = run(layer, x, direction);
  at::set_num_threads(threads);
  if (!small_batch_kernels(40, 1100, 300)) GTEST_SKIP() << "this processor uses libtorch's own product";
  EXPECT_TRUE(at::equal(one.y, three.y));
  EXPECT_TRUE(at::equal(one.x_gradient, three.x_gradient));
  EXPECT_TRUE(at::equal(one.weight_gradient, three.weight_gradient));
}

TEST(Linear, NoSampleAndFp64AreLeftToLibtorch) {
  Linear layer(512, 256);
  EXPECT_EQ(layer.forward(at::randn({0, 512})).sizes(), (at::IntArrayRef{0, 256}));
  layer.to(at::kDouble);
  EXPECT_EQ(layer.forward(at::randn({2, 512}, at::kDouble)).scalar_type(), at::kDouble);
}

TEST(Linear, NonFiniteInputsStayNonFinite) {
  Linear layer(1024, 128);
  at::Tensor x = at::randn({4, 1024});
  x[2][5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(layer.forward(x).detach()[2].isnan().all().item<bool>());
  EXPECT_FALSE(layer.forward(x).detach()[1].isnan().any().item<bool>());
}

}  // namespace
}  // namespace kolo::model
