// The loops that read or write whole gradients, at memory speed and with the same bits on every processor.
//
// None leaves early: a damaged array is rare, and a loop without branches vectorises.  Sums are added in fp64
// in a fixed pattern (blocks of kNormBlock elements, 16 interleaved sums in each), so they depend on the
// values and their order alone, not on the vector width or the alignment.
#pragma once

#include <cstdint>

namespace kolo::util {

/// sum = a + b, n elements each; `sum` may be `a`.
void add(float* sum, const float* a, const float* b, std::int64_t n);
void add(double* sum, const double* a, const double* b, std::int64_t n);

/// Copies n elements, always all of them.  True when each is finite and at most `limit` in magnitude: with
/// limit = largest value / ranks, sums over the ranks cannot overflow.  The arrays must not overlap.
bool copy_checked(float* destination, const float* source, std::int64_t n, float limit);
bool copy_checked(double* destination, const double* source, std::int64_t n, double limit);

/// Copies `blocks` matrices of rows x columns elements, each to its transpose; the result is that of
/// copy_checked.
bool transpose_checked(float* destination, const float* source, std::int64_t blocks, std::int64_t rows,
                       std::int64_t columns, float limit);
bool transpose_checked(double* destination, const double* source, std::int64_t blocks, std::int64_t rows,
                       std::int64_t columns, double limit);

/// The check of copy_checked without the copy.
bool all_within(const float* x, std::int64_t n, float limit);
bool all_within(const double* x, std::int64_t n, double limit);

inline constexpr std::int64_t kNormBlock = 1024;

/// `initial` plus the sum of the squares of n elements.  Handing one call's result to the next gives the same
/// bits as a single call, if all calls but the last cover whole blocks.
double sum_of_squares(const float* x, std::int64_t n, double initial = 0);
double sum_of_squares(const double* x, std::int64_t n, double initial = 0);

}  // namespace kolo::util
