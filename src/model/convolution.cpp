#include "kolo/model/convolution.hpp"

#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <variant>
#include <vector>

namespace kolo::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Along one dimension, what one output reads: taps [tap, tap + count) lie over image rows [row, row +
/// count).
struct Overlap {
  std::int64_t tap = 0;
  std::int64_t row = 0;
  std::int64_t count = 0;
};

/// One element per output along a dimension; none when the kernel does not fit.
std::vector<Overlap> overlaps(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t padding) {
  std::vector<Overlap> all;
  for (std::int64_t start = -padding; start + kernel <= size + padding; start += stride) {
    const std::int64_t tap = std::max<std::int64_t>(0, -start);
    const std::int64_t count = std::min(kernel - tap, size - (start + tap));
    all.push_back({tap, start + tap, std::max<std::int64_t>(0, count)});
  }
  return all;
}

std::int64_t total(const std::vector<Overlap>& overlaps) {
  std::int64_t sum = 0;
  for (const Overlap& overlap : overlaps)
    sum += overlap.count;
  return sum;
}

/// What a convolution of one image does, row by row of the kernel.
struct Windows {
  std::vector<Overlap> rows;
  std::vector<Overlap> columns;

  bool single_output() const { return rows.size() == 1 && columns.size() == 1; }
  /// Whether at least half of all taps would multiply padding.
  bool mostly_padding(std::int64_t kernel_height, std::int64_t kernel_width) const {
    const auto outputs = static_cast<std::int64_t>(rows.size() * columns.size());
    return outputs > 0 && 2 * total(rows) * total(columns) <= outputs * kernel_height * kernel_width;
  }
};

/// N x C x H x W in channels_last as the N x H x W x C array that it is.
at::Tensor by_pixel(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast).permute({0, 2, 3, 1});
}

/// `count` pixels of a row as a matrix: samples or output channels x (pixels x channels).  A view.
at::Tensor row_of(const at::Tensor& pixels, std::int64_t row, std::int64_t first, std::int64_t count) {
  return pixels.select(1, row).narrow(1, first, count).flatten(1);
}

/// Calls f(output row, output column, image row, kernel row, columns) for every pair of an image row and a
/// kernel row over it.
template <class F>
void for_each_row(const Windows& windows, F&& f) {
  for (std::size_t i = 0; i < windows.rows.size(); ++i) {
    for (std::size_t j = 0; j < windows.columns.size(); ++j) {
      if (windows.columns[j].count == 0) continue;
      for (std::int64_t r = 0; r < windows.rows[i].count; ++r) {
        f(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), windows.rows[i].row + r,
          windows.rows[i].tap + r, windows.columns[j]);
      }
    }
  }
}

Windows windows_of(const at::IntArrayRef size, const at::IntArrayRef kernel, std::int64_t stride_y,
                   std::int64_t stride_x, std::int64_t padding_y, std::int64_t padding_x) {
  return {overlaps(size[2], kernel[2], stride_y, padding_y),
          overlaps(size[3], kernel[3], stride_x, padding_x)};
}

class WindowProducts : public Function<WindowProducts> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            std::int64_t stride_y, std::int64_t stride_x, std::int64_t padding_y,
                            std::int64_t padding_x) {
    context->save_for_backward({x, weight});
    context->saved_data["geometry"] = std::vector<std::int64_t>{stride_y, stride_x, padding_y, padding_x};
    const Windows windows = windows_of(x.sizes(), weight.sizes(), stride_y, stride_x, padding_y, padding_x);
    const at::Tensor images = by_pixel(x), kernel = by_pixel(weight);
    at::Tensor y = at::zeros({x.size(0), static_cast<std::int64_t>(windows.rows.size()),
                              static_cast<std::int64_t>(windows.columns.size()), weight.size(0)},
                             x.options());
    for_each_row(windows, [&](auto i, auto j, auto image_row, auto tap_row, const Overlap& columns) {
      y.select(1, i).select(1, j).addmm_(row_of(images, image_row, columns.row, columns.count),
                                         row_of(kernel, tap_row, columns.tap, columns.count).t());
    });
    return y.permute({0, 3, 1, 2});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> g = context->saved_data["geometry"].toIntVector();
    const Windows windows = windows_of(saved[0].sizes(), saved[1].sizes(), g[0], g[1], g[2], g[3]);
    const at::Tensor images = by_pixel(saved[0]), kernel = by_pixel(saved[1]);
    const at::Tensor of_y = by_pixel(gradients.at(0));
    const bool wants_x = context->needs_input_grad(0);
    const at::Tensor of_x = at::zeros(images.sizes(), images.options());
    const at::Tensor of_kernel = at::zeros(kernel.sizes(), kernel.options());
    for_each_row(windows, [&](auto i, auto j, auto image_row, auto tap_row, const Overlap& columns) {
      const at::Tensor output = of_y.select(1, i).select(1, j);
      if (wants_x) {
        row_of(of_x, image_row, columns.row, columns.count)
            .addmm_(output, row_of(kernel, tap_row, columns.tap, columns.count));
      }
      row_of(of_kernel, tap_row, columns.tap, columns.count)
          .addmm_(output.t(), row_of(images, image_row, columns.row, columns.count));
    });
    return {of_x.permute({0, 3, 1, 2}), of_kernel.permute({0, 3, 1, 2}), {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor Convolution::forward(const at::Tensor& x) {
  const auto* given = std::get_if<torch::ExpandingArray<2>>(&options.padding());
  const auto& dilation = *options.dilation();
  const bool plain = given != nullptr && options.groups() == 1 && dilation[0] == 1 && dilation[1] == 1 &&
                     std::holds_alternative<torch::enumtype::kZeros>(options.padding_mode());
  if (!plain || x.dim() != 4 || !weight.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return Conv2dImpl::forward(x);
  }
  const auto& padding = **given;
  const auto& stride = *options.stride();
  const Windows windows = windows_of(x.sizes(), weight.sizes(), stride[0], stride[1], padding[0], padding[1]);
  if (!windows.single_output() && !windows.mostly_padding(weight.size(2), weight.size(3))) {
    return Conv2dImpl::forward(x);
  }
  const at::Tensor y = WindowProducts::apply(x, weight, stride[0], stride[1], padding[0], padding[1]);
  return bias.defined() ? y + bias.view({1, -1, 1, 1}) : y;
}

}  // namespace kolo::model
