// What training and evaluation report: sums with the number of samples behind them, never averages of
// averages.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kolo::train {

struct Sums {
  double loss = 0;  ///< of the per-sample losses
  double top1 = 0;  ///< samples whose label has the largest logit
  double top5 = 0;  ///< samples whose label is among the five largest (or among all, with fewer classes)
  double samples = 0;

  Sums& operator+=(const Sums& other);
  /// Means; NaN without samples.
  double mean_loss() const { return loss / samples; }
  double top1_fraction() const { return top1 / samples; }
  double top5_fraction() const { return top5 / samples; }
};

/// `logits` N x classes, `labels` N (int64), `loss` a scalar: the sum over the N samples.
Sums measure(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& loss);

}  // namespace kolo::train
