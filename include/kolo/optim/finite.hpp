// Finding NaN and infinity in flat arrays at memory speed.
//
// The checks run over all elements without early exit, so that the loops vectorise; a damaged array is rare
// and its cost does not matter.
#pragma once

#include <cstdint>

namespace kolo::optim {

/// No NaN and no infinity among n elements.  True for n = 0.
bool all_finite(const float* x, std::int64_t n);
bool all_finite(const double* x, std::int64_t n);

/// Copies n elements, always all of them.  True when each is finite and at most `limit` in magnitude: with
/// limit = largest value / ranks, sums over the ranks cannot overflow.  The arrays must not overlap.
bool copy_checked(float* dst, const float* src, std::int64_t n, float limit);
bool copy_checked(double* dst, const double* src, std::int64_t n, double limit);

}  // namespace kolo::optim
