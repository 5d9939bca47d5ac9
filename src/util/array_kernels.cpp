#include "kolo/util/array_kernels.hpp"

#include <limits>

#include "kolo/util/simd.hpp"

// -O2 of g++ 12 vectorises only loops of known length, and does not unroll the lanes.
#pragma GCC optimize("O3")

namespace kolo::util {
namespace {

inline __attribute__((always_inline)) float magnitude(float x) { return __builtin_fabsf(x); }
inline __attribute__((always_inline)) double magnitude(double x) { return __builtin_fabs(x); }

template <class T>
inline __attribute__((always_inline)) T bound_of(T limit) {
  const T largest = std::numeric_limits<T>::max();
  return limit < largest ? limit : largest;
}

// NaN compares false with everything, so "not at most the limit" finds it too.
template <class T>
inline __attribute__((always_inline)) bool copy_within(T* __restrict dst, const T* __restrict src,
                                                       std::int64_t n, T limit) {
  const T bound = bound_of(limit);
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    dst[i] = src[i];
    beyond |= !(magnitude(src[i]) <= bound);
  }
  return beyond == 0;
}

template <class T>
inline __attribute__((always_inline)) bool within(const T* x, std::int64_t n, T limit) {
  const T bound = bound_of(limit);
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i)
    beyond |= !(magnitude(x[i]) <= bound);
  return beyond == 0;
}

// Writes run along the destination: a block of a convolution's weights is read from the first-level cache.
template <class T>
inline __attribute__((always_inline)) bool transpose_within(T* __restrict dst, const T* __restrict src,
                                                            std::int64_t blocks, std::int64_t rows,
                                                            std::int64_t columns, T limit) {
  const T bound = bound_of(limit);
  int beyond = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const T value = src[row * columns + column];
        dst[column * rows + row] = value;
        beyond |= !(magnitude(value) <= bound);
      }
    }
    src += rows * columns;
    dst += rows * columns;
  }
  return beyond == 0;
}

constexpr int kLanes = 16;
static_assert(kNormBlock % kLanes == 0);

template <class T>
inline __attribute__((always_inline)) double block_sum(const T* x, std::int64_t n) {
  double lanes[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    const double value = x[i];
    lanes[i - whole] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes)
    sum += lane;
  return sum;
}

template <class T>
inline __attribute__((always_inline)) double blocked_sum(const T* x, std::int64_t n, double sum) {
  for (std::int64_t begin = 0; begin < n; begin += kNormBlock) {
    sum += block_sum(x + begin, n - begin < kNormBlock ? n - begin : kNormBlock);
  }
  return sum;
}

}  // namespace

KOLO_CLONES void add(float* sum, const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    sum[i] = a[i] + b[i];
}
KOLO_CLONES void add(double* sum, const double* a, const double* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    sum[i] = a[i] + b[i];
}

KOLO_CLONES bool copy_checked(float* destination, const float* source, std::int64_t n, float limit) {
  return copy_within(destination, source, n, limit);
}
KOLO_CLONES bool copy_checked(double* destination, const double* source, std::int64_t n, double limit) {
  return copy_within(destination, source, n, limit);
}

KOLO_CLONES bool transpose_checked(float* destination, const float* source, std::int64_t blocks,
                                   std::int64_t rows, std::int64_t columns, float limit) {
  return transpose_within(destination, source, blocks, rows, columns, limit);
}
KOLO_CLONES bool transpose_checked(double* destination, const double* source, std::int64_t blocks,
                                   std::int64_t rows, std::int64_t columns, double limit) {
  return transpose_within(destination, source, blocks, rows, columns, limit);
}

KOLO_CLONES bool all_within(const float* x, std::int64_t n, float limit) { return within(x, n, limit); }
KOLO_CLONES bool all_within(const double* x, std::int64_t n, double limit) { return within(x, n, limit); }

KOLO_CLONES double sum_of_squares(const float* x, std::int64_t n, double initial) {
  return blocked_sum(x, n, initial);
}
KOLO_CLONES double sum_of_squares(const double* x, std::int64_t n, double initial) {
  return blocked_sum(x, n, initial);
}

}  // namespace kolo::util
