// Between libtorch's tensors and the torch-free tensors of checkpoints.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>

#include "kolo/io/checkpoint.hpp"

namespace kolo::train {

/// Element type of a tensor that can be stored.  Throws std::invalid_argument for others.
DType dtype_of(const at::Tensor& tensor);
/// Copies into `tensor`, whatever its strides.  Throws CheckpointError when type or shape differ.
void from_named(const io::NamedTensor& stored, const std::string& what, at::Tensor tensor);
/// The memory of a contiguous tensor.
std::span<std::byte> bytes_of(const at::Tensor& tensor);

}  // namespace kolo::train
