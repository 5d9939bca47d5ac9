#include "kolo/fusion/kernels.hpp"

#include <algorithm>
#include <cmath>

// One clone per instruction set, chosen when the program starts.  The clones do the same operations in the
// same order per element, so they give the same bits (-ffp-contract=off: no fused multiply-add).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define KOLO_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KOLO_SIMD_CLONES
#endif

namespace kolo::fusion {
namespace {

// A piece stays in the first-level cache; the flag is looked at once a piece, so that the loop has no branch.
constexpr std::int64_t kPiece = 2048;
constexpr std::int64_t kLanes = 16;

// !(|x| <= limit) holds for NaN as well.
KOLO_SIMD_CLONES int copy_piece(float* destination, const float* source, std::int64_t count, float limit) {
  int bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = source[i];
    destination[i] = value;
    bad |= static_cast<int>(!(__builtin_fabsf(value) <= limit));
  }
  return bad;
}

KOLO_SIMD_CLONES int copy_piece(double* destination, const double* source, std::int64_t count, double limit) {
  int bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = source[i];
    destination[i] = value;
    bad |= static_cast<int>(!(__builtin_fabs(value) <= limit));
  }
  return bad;
}

// Sixteen independent partial sums, so that the order of additions is fixed and the loop still vectorises.
KOLO_SIMD_CLONES void add_squares(double* lanes, const float* values, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(values[row * kLanes + lane]);
      lanes[lane] += value * value;
    }
  }
}

KOLO_SIMD_CLONES void add_squares(double* lanes, const double* values, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[row * kLanes + lane];
      lanes[lane] += value * value;
    }
  }
}

KOLO_SIMD_CLONES void add_arrays(float* sum, const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    sum[i] = a[i] + b[i];
}

KOLO_SIMD_CLONES void add_arrays(double* sum, const double* a, const double* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    sum[i] = a[i] + b[i];
}

}  // namespace

template <class T>
void add(T* sum, const T* a, const T* b, std::int64_t count) {
  add_arrays(sum, a, b, count);
}

template <class T>
bool copy_checked(T* destination, const T* source, std::int64_t count, T limit) {
  int bad = 0;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    bad |= copy_piece(destination + begin, source + begin, std::min(kPiece, count - begin), limit);
  }
  return bad == 0;
}

template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t piece = std::min(kPiece, count - begin);
    double lanes[kLanes] = {};
    add_squares(lanes, values + begin, piece / kLanes);
    for (std::int64_t i = piece / kLanes * kLanes; i < piece; ++i) {
      const double value = static_cast<double>(values[begin + i]);
      lanes[i % kLanes] += value * value;
    }
    for (const double lane : lanes)
      total += lane;
  }
  return total;
}

template void add(float*, const float*, const float*, std::int64_t);
template void add(double*, const double*, const double*, std::int64_t);
template bool copy_checked(float*, const float*, std::int64_t, float);
template bool copy_checked(double*, const double*, std::int64_t, double);
template double sum_of_squares(const float*, std::int64_t);
template double sum_of_squares(const double*, std::int64_t);

}  // namespace kolo::fusion
