// The update loops, compiled once per instruction set and chosen at run time.
//
// Every loop does the same IEEE operations on each element whatever its vector width and never contracts a
// multiply and an add, so all variants give the same bits: a run may move between CPU types without its
// updates changing.
#pragma once

#include <cstdint>

namespace kolo::optim {

template <class T>
struct SgdScalars {
  T lr;
  T momentum;
  T weight_decay;
  T grad_scale;
};

template <class T>
struct AdamScalars {
  T beta1;
  T one_minus_beta1;
  T beta2;
  T one_minus_beta2;
  T eps;
  T step_size;     ///< lr / (1 - beta1^step)
  T sqrt_bias2;    ///< sqrt(1 - beta2^step)
  T coupled;       ///< Adam: weight decay, added to the gradient; AdamW: 0
  T param_factor;  ///< AdamW: 1 - lr x weight decay; Adam: 1
  T grad_scale;
};

// n elements each; the arrays must not overlap.
void sgd_plain(float* p, const float* g, std::int64_t n, const SgdScalars<float>& s);
void sgd_plain(double* p, const double* g, std::int64_t n, const SgdScalars<double>& s);
void sgd_momentum(float* p, const float* g, float* buffer, std::int64_t n, const SgdScalars<float>& s);
void sgd_momentum(double* p, const double* g, double* buffer, std::int64_t n, const SgdScalars<double>& s);
void sgd_nesterov(float* p, const float* g, float* buffer, std::int64_t n, const SgdScalars<float>& s);
void sgd_nesterov(double* p, const double* g, double* buffer, std::int64_t n, const SgdScalars<double>& s);
void adam(float* p, const float* g, float* m, float* v, std::int64_t n, const AdamScalars<float>& s);
void adam(double* p, const double* g, double* m, double* v, std::int64_t n, const AdamScalars<double>& s);

}  // namespace kolo::optim
