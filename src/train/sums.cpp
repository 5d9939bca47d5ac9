#include "kolo/train/sums.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/topk.h>

#include <algorithm>

namespace kolo::train {

Sums& Sums::operator+=(const Sums& other) {
  loss += other.loss;
  top1 += other.top1;
  top5 += other.top5;
  samples += other.samples;
  return *this;
}

Sums measure(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  const std::int64_t best = std::min<std::int64_t>(5, logits.size(1));
  const at::Tensor ranking = std::get<1>(logits.detach().topk(best, 1)).contiguous();
  const auto* predicted = ranking.const_data_ptr<std::int64_t>();
  const auto* expected = labels.const_data_ptr<std::int64_t>();
  Sums sums;
  sums.loss = loss.item<double>();
  sums.samples = static_cast<double>(labels.size(0));
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    const std::int64_t* row = predicted + i * best;
    const std::int64_t* hit = std::find(row, row + best, expected[i]);
    sums.top1 += hit == row ? 1 : 0;
    sums.top5 += hit != row + best ? 1 : 0;
  }
  return sums;
}

}  // namespace kolo::train
