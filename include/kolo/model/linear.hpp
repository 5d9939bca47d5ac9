// A linear layer for small batches of samples.
//
// With a few dozen samples a product with the weights costs about as much as reading them.  MKL, behind
// libtorch, first copies them into a layout of its own, and on processors other than Intel's uses kernels of
// an older time.  oneDNN's small-matrix kernels, which libtorch exports, read the weights where they lie.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace kolo::model {

/// torch::nn::Linear with its options, names and initialisation.
class Linear final : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  /// `x`: samples x in_features.  Returns samples x out_features.
  at::Tensor forward(const at::Tensor& x);
};

/// Whether Linear goes its own way for products of this size, in fp32.  Depends on processor and libtorch.
bool small_batch_kernels(std::int64_t samples, std::int64_t in, std::int64_t out);

}  // namespace kolo::model
