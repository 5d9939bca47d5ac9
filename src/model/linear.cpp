#include "kolo/model/linear.hpp"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <exception>

namespace kolo::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Measured on an AMD EPYC (Zen 4): beyond, MKL's copies of the weights no longer count.
constexpr std::int64_t kMostSamples = 128;
// Below, the forward product has too few columns to hide the reading of the weights, and MKL is ahead.
constexpr std::int64_t kLeastForward = 32;
constexpr std::int64_t kLeastWeights = 1 << 16;
// Blocks of weights that fit the second-level cache beside what they are multiplied with.
constexpr std::int64_t kRows = 128;
constexpr std::int64_t kInner = 512;
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kWideColumns = 512;

#if defined(CPUBLAS_BRGEMM_F32F32F32) && defined(__x86_64__)

/// c (m x n) = a (m x k) b (k x n), or added to it; row-major with the given row lengths.
void product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t row_of_a,
             const float* b, std::int64_t row_of_b, float* c, std::int64_t row_of_c, bool add) {
  at::native::cpublas::brgemm(m, n, k, row_of_a, row_of_b, row_of_c, add, a, b, c, /*is_vnni=*/false);
}

bool kernels_work() {
  if (!__builtin_cpu_supports("avx512bw") || __builtin_cpu_is("intel")) return false;
  const float one = 1;
  float result = 0;
  try {
    product(1, 1, 1, &one, 1, &one, 1, &result, 1, /*add=*/false);
  } catch (const std::exception&) {
    return false;  // this libtorch or its environment does without them
  }
  return result == 1;
}

#else

void product(std::int64_t, std::int64_t, std::int64_t, const float*, std::int64_t, const float*, std::int64_t,
             float*, std::int64_t, bool) {}
bool kernels_work() { return false; }

#endif

/// Calls f(first, count) for every block of at most `block` of `total`, on this rank's threads.
template <class F>
void for_blocks(std::int64_t total, std::int64_t block, F&& f) {
  at::parallel_for(0, (total + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      f(i * block, std::min(block, total - i * block));
  });
}

/// x w^T: samples x out.
at::Tensor forward_product(const at::Tensor& x, const at::Tensor& w) {
  const std::int64_t samples = x.size(0), in = x.size(1), out = w.size(0);
  const at::Tensor turned = x.t().contiguous();
  const at::Tensor y = at::empty({out, samples}, x.options());
  for_blocks(out, kRows, [&](std::int64_t row, std::int64_t rows) {
    for (std::int64_t k = 0; k < in; k += kInner) {
      product(rows, samples, std::min(kInner, in - k), w.const_data_ptr<float>() + row * in + k, in,
              turned.const_data_ptr<float>() + k * samples, samples,
              y.mutable_data_ptr<float>() + row * samples, samples, /*add=*/k > 0);
    }
  });
  return y.t().contiguous();
}

/// g w: samples x in.
at::Tensor input_product(const at::Tensor& g, const at::Tensor& w) {
  const std::int64_t samples = g.size(0), out = g.size(1), in = w.size(1);
  const at::Tensor result = at::empty({samples, in}, g.options());
  for_blocks(in, kColumns, [&](std::int64_t column, std::int64_t columns) {
    product(samples, columns, out, g.const_data_ptr<float>(), out, w.const_data_ptr<float>() + column, in,
            result.mutable_data_ptr<float>() + column, in, /*add=*/false);
  });
  return result;
}

/// g^T x: out x in.
at::Tensor weight_product(const at::Tensor& g, const at::Tensor& x) {
  const std::int64_t samples = g.size(0), out = g.size(1), in = x.size(1);
  const at::Tensor turned = g.t().contiguous();
  const at::Tensor result = at::empty({out, in}, g.options());
  for_blocks(in, kWideColumns, [&](std::int64_t column, std::int64_t columns) {
    product(out, columns, samples, turned.const_data_ptr<float>(), samples,
            x.const_data_ptr<float>() + column, in, result.mutable_data_ptr<float>() + column, in,
            /*add=*/false);
  });
  return result;
}

class SmallBatchProduct : public Function<SmallBatchProduct> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight) {
    context->save_for_backward({x, weight});
    return x.size(0) < kLeastForward ? x.mm(weight.t()) : forward_product(x.contiguous(), weight);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor g = gradients.at(0).contiguous();
    at::Tensor for_x, for_weight;
    if (context->needs_input_grad(0)) for_x = input_product(g, saved[1]);
    if (context->needs_input_grad(1)) for_weight = weight_product(g, saved[0].contiguous());
    return {for_x, for_weight};
  }
};

}  // namespace

bool small_batch_kernels(std::int64_t samples, std::int64_t in, std::int64_t out) {
  static const bool work = kernels_work();
  return work && samples > 0 && samples <= kMostSamples && in * out >= kLeastWeights;
}

at::Tensor Linear::forward(const at::Tensor& x) {
  const bool fits = x.dim() == 2 && x.scalar_type() == at::kFloat && weight.is_contiguous() &&
                    small_batch_kernels(x.size(0), x.size(1), weight.size(0));
  if (!fits) return LinearImpl::forward(x);
  const at::Tensor y = SmallBatchProduct::apply(x, weight);
  return bias.defined() ? y + bias : y;
}

}  // namespace kolo::model
