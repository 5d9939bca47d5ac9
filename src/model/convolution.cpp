#include "kolo/model/convolution.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

namespace kolo::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// The part of a kernel that lies over the image when the output is one pixel, along one dimension: taps
/// [first, first + count) over the image's first `count` rows.
struct Covered {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::optional<Covered> covered(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding) {
  const std::int64_t outputs = (size + 2 * padding - kernel) / stride + 1;
  const std::int64_t count = std::min(size, kernel - padding);
  if (size + 2 * padding < kernel || outputs != 1 || count < 1) return std::nullopt;
  return Covered{padding, count};
}

/// The window as a matrix, one row per sample or per output channel, columns in the order (row, column,
/// channel): a view where the memory format allows.
at::Tensor as_matrix(const at::Tensor& tensor, Covered rows, Covered columns) {
  const at::Tensor window = tensor.narrow(2, rows.first, rows.count).narrow(3, columns.first, columns.count);
  return window.permute({0, 2, 3, 1}).reshape({tensor.size(0), -1});
}

/// The reverse of as_matrix, with zeros around the window.
at::Tensor from_matrix(const at::Tensor& matrix, const at::Tensor& like, Covered rows, Covered columns) {
  at::Tensor whole = at::zeros_like(like);
  const at::Tensor window =
      matrix.view({like.size(0), rows.count, columns.count, like.size(1)}).permute({0, 3, 1, 2});
  whole.narrow(2, rows.first, rows.count).narrow(3, columns.first, columns.count).copy_(window);
  return whole;
}

class WindowProduct : public Function<WindowProduct> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            std::int64_t first_row, std::int64_t row_count, std::int64_t first_column,
                            std::int64_t column_count) {
    context->save_for_backward({x, weight});
    context->saved_data["rows"] = std::vector<std::int64_t>{first_row, row_count};
    context->saved_data["columns"] = std::vector<std::int64_t>{first_column, column_count};
    const at::Tensor images = as_matrix(x, {0, row_count}, {0, column_count});
    const at::Tensor taps = as_matrix(weight, {first_row, row_count}, {first_column, column_count});
    return images.mm(taps.t()).unsqueeze(-1).unsqueeze(-1);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> r = context->saved_data["rows"].toIntVector();
    const std::vector<std::int64_t> c = context->saved_data["columns"].toIntVector();
    const Covered rows{r[0], r[1]}, columns{c[0], c[1]};
    const at::Tensor gradient = gradients.at(0).flatten(1);
    const at::Tensor images = as_matrix(saved[0], {0, rows.count}, {0, columns.count});
    const at::Tensor taps = as_matrix(saved[1], rows, columns);
    at::Tensor for_x;
    if (context->needs_input_grad(0)) {
      for_x = from_matrix(gradient.mm(taps), saved[0], {0, rows.count}, {0, columns.count});
    }
    const at::Tensor for_weight = from_matrix(gradient.t().mm(images), saved[1], rows, columns);
    return {for_x, for_weight, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor Convolution::forward(const at::Tensor& x) {
  const auto* padding = std::get_if<torch::ExpandingArray<2>>(&options.padding());
  const bool plain = padding != nullptr && options.groups() == 1 && options.dilation()->at(0) == 1 &&
                     options.dilation()->at(1) == 1 &&
                     std::holds_alternative<torch::enumtype::kZeros>(options.padding_mode());
  if (!plain || x.dim() != 4) return Conv2dImpl::forward(x);
  const auto& kernel = *options.kernel_size();
  const auto& stride = *options.stride();
  const auto rows = covered(x.size(2), kernel[0], stride[0], (**padding)[0]);
  const auto columns = covered(x.size(3), kernel[1], stride[1], (**padding)[1]);
  if (!rows || !columns) return Conv2dImpl::forward(x);
  at::Tensor y = WindowProduct::apply(x, weight, rows->first, rows->count, columns->first, columns->count);
  if (bias.defined()) y = y + bias.view({1, -1, 1, 1});
  return y;
}

}  // namespace kolo::model
