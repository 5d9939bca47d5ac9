// Clipping by the global norm, as torch.nn.utils.clip_grad_norm_ does it, over flat arrays.
//
// The squares are added in fp64 in a fixed pattern (blocks of kNormBlock elements, 16 interleaved sums in
// each), so the sum depends on the values and their order alone: not on the vector width or the alignment.
// Handing one call's result to the next as `initial` gives the same bits as a single call, if all calls but
// the last cover whole blocks.
#pragma once

#include <cstdint>

namespace kolo::optim {

inline constexpr std::int64_t kNormBlock = 1024;

/// `initial` plus the sum of the squares of n elements.
double sum_of_squares(const float* x, std::int64_t n, double initial = 0);
double sum_of_squares(const double* x, std::int64_t n, double initial = 0);

/// min(1, max_norm / (norm + 1e-6)): what gradients of this norm are multiplied by.  NaN when the norm is.
double clip_scale(double norm, double max_norm);

}  // namespace kolo::optim
