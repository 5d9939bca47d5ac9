// A 2-d convolution that does only the work its input asks for.
//
// Where the output is a single pixel (the last stage of a network on small images) a convolution is a matrix
// product of the image with those taps of the kernel that lie over it: with padding, a 3x3 kernel over a 1x1
// image touches 1 tap of 9.  The product reads the weights where they are; convolution would bring all of
// them into another layout three times a step.  Values and gradients are the same, those of untouched taps
// exactly zero.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/conv.h>

namespace kolo::model {

/// torch::nn::Conv2d with its options, names and initialisation.
class Convolution final : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  /// `x`: N x C x H x W in any memory format.
  at::Tensor forward(const at::Tensor& x);
};

}  // namespace kolo::model
