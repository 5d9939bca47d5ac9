#include "kolo/optim/finite.hpp"

#include <limits>

#include "kolo/optim/clones.hpp"

// -O2 of g++ 12 vectorises only loops of known length.
#pragma GCC optimize("O3")

namespace kolo::optim {
namespace {

inline __attribute__((always_inline)) float magnitude(float x) { return __builtin_fabsf(x); }
inline __attribute__((always_inline)) double magnitude(double x) { return __builtin_fabs(x); }

// NaN compares false with everything, so "not at most the limit" finds it too.
template <class T>
inline __attribute__((always_inline)) bool within(const T* x, std::int64_t n, T limit) {
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i)
    beyond |= !(magnitude(x[i]) <= limit);
  return beyond == 0;
}

template <class T>
inline __attribute__((always_inline)) bool copy_within(T* __restrict dst, const T* __restrict src,
                                                       std::int64_t n, T limit) {
  const T largest = std::numeric_limits<T>::max();
  const T bound = limit < largest ? limit : largest;
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    dst[i] = src[i];
    beyond |= !(magnitude(src[i]) <= bound);
  }
  return beyond == 0;
}

}  // namespace

KOLO_CLONES bool all_finite(const float* x, std::int64_t n) {
  return within(x, n, std::numeric_limits<float>::max());
}
KOLO_CLONES bool all_finite(const double* x, std::int64_t n) {
  return within(x, n, std::numeric_limits<double>::max());
}

KOLO_CLONES bool copy_checked(float* dst, const float* src, std::int64_t n, float limit) {
  return copy_within(dst, src, n, limit);
}
KOLO_CLONES bool copy_checked(double* dst, const double* src, std::int64_t n, double limit) {
  return copy_within(dst, src, n, limit);
}

}  // namespace kolo::optim
