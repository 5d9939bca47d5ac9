#include "kolo/optim/clip.hpp"

#include "kolo/optim/clones.hpp"

// -O2 of g++ 12 does not unroll and vectorise the lanes.
#pragma GCC optimize("O3")

namespace kolo::optim {
namespace {

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

KOLO_CLONES double sum_of_squares(const float* x, std::int64_t n, double initial) {
  return blocked_sum(x, n, initial);
}
KOLO_CLONES double sum_of_squares(const double* x, std::int64_t n, double initial) {
  return blocked_sum(x, n, initial);
}

double clip_scale(double norm, double max_norm) {
  const double scale = max_norm / (norm + 1e-6);
  return scale > 1 ? 1 : scale;
}

}  // namespace kolo::optim
