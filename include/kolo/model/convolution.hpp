// A 2-d convolution that does only the work its input asks for.
//
// On images smaller than its kernel a convolution multiplies mostly padding: of the 9 taps of a 3x3 kernel 1
// lies over a 1x1 image, and 4 over each output of a 2x2 one.  The last stages of a network see such images.
// There this layer is a few matrix products, of image rows with the kernel rows over them.  They read the
// weights where they are; a convolution would bring all of them into another layout three times a step.
// Values and gradients are the same, those of untouched taps exactly zero.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/conv.h>

namespace kolo::model {

/// torch::nn::Conv2d with its options, names and initialisation.  Weights in channels_last are needed for
/// what this class is for; with others it does what its base does.
class Convolution final : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  /// `x`: N x C x H x W in any memory format.
  at::Tensor forward(const at::Tensor& x);
};

}  // namespace kolo::model
