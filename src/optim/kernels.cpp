#include "kolo/optim/kernels.hpp"

#include "kolo/util/simd.hpp"

// -O2 of g++ 12 vectorises only loops of known length.  (The square root needs -fno-math-errno, which no
// pragma can set.)
#pragma GCC optimize("O3")

namespace kolo::optim {
namespace {

inline __attribute__((always_inline)) float root(float x) { return __builtin_sqrtf(x); }
inline __attribute__((always_inline)) double root(double x) { return __builtin_sqrt(x); }

template <class T>
inline __attribute__((always_inline)) void plain_loop(T* __restrict p, const T* __restrict g, std::int64_t n,
                                                      const SgdScalars<T> s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * s.grad_scale + s.weight_decay * p[i];
    p[i] -= s.lr * grad;
  }
}

template <class T>
inline __attribute__((always_inline)) void momentum_loop(T* __restrict p, const T* __restrict g,
                                                         T* __restrict b, std::int64_t n,
                                                         const SgdScalars<T> s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * s.grad_scale + s.weight_decay * p[i];
    b[i] = s.momentum * b[i] + grad;
    p[i] -= s.lr * b[i];
  }
}

template <class T>
inline __attribute__((always_inline)) void nesterov_loop(T* __restrict p, const T* __restrict g,
                                                         T* __restrict b, std::int64_t n,
                                                         const SgdScalars<T> s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * s.grad_scale + s.weight_decay * p[i];
    b[i] = s.momentum * b[i] + grad;
    p[i] -= s.lr * (grad + s.momentum * b[i]);
  }
}

template <class T>
inline __attribute__((always_inline)) void adam_loop(T* __restrict p, const T* __restrict g, T* __restrict m,
                                                     T* __restrict v, std::int64_t n,
                                                     const AdamScalars<T> s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * s.grad_scale + s.coupled * p[i];
    m[i] = s.beta1 * m[i] + s.one_minus_beta1 * grad;
    v[i] = s.beta2 * v[i] + s.one_minus_beta2 * (grad * grad);
    const T denominator = root(v[i]) / s.sqrt_bias2 + s.eps;
    p[i] = p[i] * s.param_factor - s.step_size * (m[i] / denominator);
  }
}

}  // namespace

KOLO_CLONES void sgd_plain(float* p, const float* g, std::int64_t n, const SgdScalars<float>& s) {
  plain_loop(p, g, n, s);
}
KOLO_CLONES void sgd_plain(double* p, const double* g, std::int64_t n, const SgdScalars<double>& s) {
  plain_loop(p, g, n, s);
}

KOLO_CLONES void sgd_momentum(float* p, const float* g, float* buffer, std::int64_t n,
                              const SgdScalars<float>& s) {
  momentum_loop(p, g, buffer, n, s);
}
KOLO_CLONES void sgd_momentum(double* p, const double* g, double* buffer, std::int64_t n,
                              const SgdScalars<double>& s) {
  momentum_loop(p, g, buffer, n, s);
}

KOLO_CLONES void sgd_nesterov(float* p, const float* g, float* buffer, std::int64_t n,
                              const SgdScalars<float>& s) {
  nesterov_loop(p, g, buffer, n, s);
}
KOLO_CLONES void sgd_nesterov(double* p, const double* g, double* buffer, std::int64_t n,
                              const SgdScalars<double>& s) {
  nesterov_loop(p, g, buffer, n, s);
}

KOLO_CLONES void adam(float* p, const float* g, float* m, float* v, std::int64_t n,
                      const AdamScalars<float>& s) {
  adam_loop(p, g, m, v, n, s);
}
KOLO_CLONES void adam(double* p, const double* g, double* m, double* v, std::int64_t n,
                      const AdamScalars<double>& s) {
  adam_loop(p, g, m, v, n, s);
}

}  // namespace kolo::optim
