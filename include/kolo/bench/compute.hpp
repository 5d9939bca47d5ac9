// How fast this rank computes what training is made of: products and convolutions, in two types.
//
// Every rank calls these at the same time, as in a training step, so that ranks that hold each other up show.
#pragma once

namespace kolo::bench {

enum class ComputeType { fp32, bf16 };

/// Operations a second (a multiplication and an addition count as two) of the product of two 512 x 512
/// matrices, repeated for about `seconds`.
double product_speed(ComputeType type, double seconds);

/// The same for a 3 x 3 convolution of 64 to 64 channels on 4 images of 56 x 56, channels last, forward.
double convolution_speed(ComputeType type, double seconds);

}  // namespace kolo::bench
