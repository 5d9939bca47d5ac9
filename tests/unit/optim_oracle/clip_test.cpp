#include "kolo/optim/clip.hpp"

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <vector>

#include "kolo/util/array_kernels.hpp"

namespace kolo::optim {
namespace {

class ClipAgainstTorch : public testing::TestWithParam<double> {};

TEST_P(ClipAgainstTorch, ScalesGradientsLikeClipGradNorm) {
  const double max_norm = GetParam();
  std::vector<at::Tensor> params;
  double sum = 0;
  for (const std::int64_t size : {1, 17, 2049}) {
    params.push_back(at::randn({size}, at::kDouble).requires_grad_());
    params.back().mutable_grad() = at::randn({size}, at::kDouble);
    sum = util::sum_of_squares(params.back().grad().data_ptr<double>(), size, sum);
  }
  const double before = params[1].grad()[3].item<double>();
  const double norm = torch::nn::utils::clip_grad_norm_(params, max_norm);
  EXPECT_NEAR(std::sqrt(sum), norm, 1e-12 * norm);
  EXPECT_NEAR(before * clip_scale(std::sqrt(sum), max_norm), params[1].grad()[3].item<double>(), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(BelowAndAboveTheNorm, ClipAgainstTorch, testing::Values(0.5, 10.0, 1000.0));

}  // namespace
}  // namespace kolo::optim
