#include "kolo/model/batch_norm.hpp"

#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "kolo/util/error.hpp"

namespace kolo::model {
namespace {

/// Calls f with the tensor's elements, fp32 or fp64.
template <class F>
void with_values(const at::Tensor& tensor, F&& f) {
  const auto n = static_cast<std::size_t>(tensor.numel());
  if (tensor.scalar_type() == at::kDouble) {
    f(std::span(tensor.data_ptr<double>(), n));
  } else {
    f(std::span(tensor.data_ptr<float>(), n));
  }
}

/// Zero without a dispatch, and without autograd seeing a change: backward saves the tensor but never reads
/// it.
void clear(const at::Tensor& tensor) {
  with_values(tensor, [](auto values) { std::fill(values.begin(), values.end(), 0); });
}

void blend(const at::Tensor& running, double momentum, std::span<const double> batch) {
  with_values(running, [&](auto values) {
    using T = typename decltype(values)::element_type;
    for (std::size_t c = 0; c < values.size(); ++c) {
      values[c] = static_cast<T>((1 - momentum) * static_cast<double>(values[c]) + momentum * batch[c]);
    }
  });
}

}  // namespace

BatchNorm2d::BatchNorm2d(std::int64_t channels)
    : channels_(channels),
      sum_(static_cast<std::size_t>(channels)),
      sum_sq_(static_cast<std::size_t>(channels)) {
  weight = register_parameter("weight", at::ones({channels}));
  bias = register_parameter("bias", at::zeros({channels}));
  running_mean = register_buffer("running_mean", at::zeros({channels}));
  running_var = register_buffer("running_var", at::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
}

at::Tensor BatchNorm2d::forward(const at::Tensor& x) {
  if (is_training()) return normalise_and_record(x);
  return std::get<0>(
      at::native_batch_norm(x, weight, bias, running_mean, running_var, /*training=*/false, kMomentum, kEps));
}

at::Tensor BatchNorm2d::normalise_and_record(const at::Tensor& x) {
  const double n = static_cast<double>(x.numel() / std::max<std::int64_t>(1, x.size(1)));
  if (n < 2) {
    throw ConfigError(
        fmt::format(
            "batch norm in training with an input of shape {}: expected more than one value a channel",
            fmt::join(x.sizes().vec(), "x")),
        "train.batch_per_rank must leave each rank at least 2 samples a forward pass");
  }
  if (!batch_mean_.defined() || batch_mean_.scalar_type() != running_mean.scalar_type()) {
    batch_mean_ = at::zeros({channels_}, running_mean.options());
    batch_var_ = at::zeros({channels_}, running_mean.options());
  }
  // With momentum 1 the "running" statistics become this batch's own: more exact than inverting the saved
  // 1/std.  They are cleared first because 0 x NaN of an earlier batch would stay NaN.
  clear(batch_mean_);
  clear(batch_var_);
  at::Tensor y = std::get<0>(at::native_batch_norm(x, weight, bias, batch_mean_, batch_var_,
                                                   /*training=*/true, /*momentum=*/1, kEps));
  with_values(batch_mean_, [&](auto mean) {
    with_values(batch_var_, [&](auto var) {
      for (std::size_t c = 0; c < sum_.size(); ++c) {
        const double mu = mean[c];
        sum_[c] += n * mu;
        sum_sq_[c] += (n - 1) * static_cast<double>(var[c]) + n * mu * mu;
      }
    });
  });
  count_ += n;
  return y;
}

void BatchNorm2d::reset_moments() {
  count_ = 0;
  std::fill(sum_.begin(), sum_.end(), 0);
  std::fill(sum_sq_.begin(), sum_sq_.end(), 0);
}

void BatchNorm2d::apply_moments(double count, std::span<const double> sum, std::span<const double> sum_sq,
                                double momentum) {
  if (count < 2 || sum.size() != sum_.size() || sum_sq.size() != sum_.size()) {
    throw std::invalid_argument(
        fmt::format("batch-norm moments of {} values for {} and {} channels, expected {} channels", count,
                    sum.size(), sum_sq.size(), channels_));
  }
  std::vector<double> mean(sum_.size());
  std::vector<double> variance(sum_.size());
  for (std::size_t c = 0; c < sum_.size(); ++c) {
    mean[c] = sum[c] / count;
    // Rounding can leave a constant channel just below zero; NaN must stay NaN.
    const double squares = sum_sq[c] - sum[c] * mean[c];
    variance[c] = (squares < 0 ? 0 : squares) / (count - 1);
  }
  blend(running_mean, momentum, mean);
  blend(running_var, momentum, variance);
  num_batches_tracked.add_(1);
}

void BatchNorm2d::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  torch::nn::Module::to(device, dtype, non_blocking);
  num_batches_tracked.set_data(num_batches_tracked.to(at::kLong));
}

void BatchNorm2d::to(torch::Dtype dtype, bool non_blocking) {
  torch::nn::Module::to(dtype, non_blocking);
  num_batches_tracked.set_data(num_batches_tracked.to(at::kLong));
}

}  // namespace kolo::model
