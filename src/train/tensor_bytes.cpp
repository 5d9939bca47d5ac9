#include "kolo/train/tensor_bytes.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kolo/util/error.hpp"

namespace kolo::train {
namespace {

DType dtype_of_scalar(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::f32;
    case at::kDouble:
      return DType::f64;
    case at::kLong:
      return DType::i64;
    case at::kByte:
      return DType::u8;
    default:
      throw std::invalid_argument(fmt::format("tensors of type {} cannot be stored", at::toString(type)));
  }
}

std::string describe(DType type, std::span<const std::int64_t> shape) {
  return fmt::format("{} [{}]", name_of(type), fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

DType dtype_of(const at::Tensor& tensor) { return dtype_of_scalar(tensor.scalar_type()); }

void from_named(const io::NamedTensor& stored, const std::string& what, at::Tensor tensor) {
  const DType type = dtype_of(tensor);
  const auto sizes = tensor.sizes();
  if (stored.type != type ||
      !std::equal(stored.shape.begin(), stored.shape.end(), sizes.begin(), sizes.end())) {
    throw CheckpointError(fmt::format("{} {} is {} in the checkpoint, expected {}", what, stored.name,
                                      describe(stored.type, stored.shape),
                                      describe(type, std::span(sizes.data(), sizes.size()))));
  }
  const at::NoGradGuard no_grad;
  // from_blob wants a mutable pointer but nothing writes through it.
  auto* bytes = const_cast<std::byte*>(stored.data.data());
  tensor.copy_(at::from_blob(bytes, sizes, at::TensorOptions().dtype(tensor.scalar_type())));
}

}  // namespace kolo::train
