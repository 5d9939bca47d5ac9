// Batch normalisation whose running statistics belong to the step, not to the forward pass.
//
// torch's layer updates running_mean and running_var in every training forward, so with several ranks or
// micro-batches each rank ends with statistics of its own samples.  This layer normalises with its own
// micro-batch but only *records* the moments, as sums that can be added over micro-batches and ranks; the
// trainer adds them up and applies them once a step. So all ranks hold the same running statistics after each
// step, and one micro-batch on one rank gives torch's.
//
// Parameters, buffers and their names are those of torch.nn.BatchNorm2d.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <span>
#include <vector>

namespace kolo::model {

/// Sums over the values of each channel since the last reset, as n x mean and n x (biased variance + mean^2)
/// of each micro-batch.  The spans are the layer's own: add other ranks' sums to a copy of them.
struct Moments {
  double count;  ///< values a channel: samples x height x width
  std::span<const double> sum;
  std::span<const double> sum_sq;
};

class BatchNorm2d : public torch::nn::Module {
 public:
  static constexpr double kMomentum = 0.1;
  static constexpr double kEps = 1e-5;

  explicit BatchNorm2d(std::int64_t channels);

  /// `x`: N x channels x H x W.  Training: normalises with the moments of `x` and records them.  Evaluation:
  /// normalises with the running statistics.  Throws ConfigError when training with a single value a channel.
  at::Tensor forward(const at::Tensor& x);

  std::int64_t channels() const { return channels_; }

  Moments moments() const { return {count_, sum_, sum_sq_}; }
  void reset_moments();

  /// running = (1 - momentum) x running + momentum x (mean, unbiased variance) of the given sums; counts one
  /// batch. Throws std::invalid_argument for spans of another length than channels() or a count below 2.
  void apply_moments(double count, std::span<const double> sum, std::span<const double> sum_sq,
                     double momentum = kMomentum);

  // torch's converts every buffer; the batch counter stays an integer here, as it does in Python.
  using torch::nn::Module::to;
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor num_batches_tracked;

 private:
  at::Tensor normalise_and_record(const at::Tensor& x);

  std::int64_t channels_;
  double count_ = 0;
  std::vector<double> sum_;
  std::vector<double> sum_sq_;
  at::Tensor batch_mean_;  ///< where native_batch_norm leaves the moments of one micro-batch
  at::Tensor batch_var_;   ///< unbiased
};

}  // namespace kolo::model
