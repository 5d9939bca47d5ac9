#include "kolo/fusion/arena.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

namespace kolo::fusion {

DType dtype_of_tensor(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return DType::f32;
  if (tensor.scalar_type() == at::kDouble) return DType::f64;
  throw std::invalid_argument(
      fmt::format("a tensor of type {} where fp32 or fp64 is expected", std::string(tensor.dtype().name())));
}

std::vector<NamedParameter> unique_trainable(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> unique;
  std::unordered_set<const void*> seen;
  for (const NamedParameter& parameter : parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    if (seen.insert(parameter.tensor.unsafeGetTensorImpl()).second) unique.push_back(parameter);
  }
  return unique;
}

std::vector<ParameterInfo> describe_parameters(const std::vector<NamedParameter>& parameters) {
  std::vector<ParameterInfo> infos;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.scalar_type() != parameters.front().tensor.scalar_type()) {
      throw std::invalid_argument(
          fmt::format("parameter {} has another type than {}", name, parameters.front().name));
    }
    if (!tensor.is_non_overlapping_and_dense()) {
      throw std::invalid_argument(fmt::format("parameter {} is not dense in memory", name));
    }
    infos.push_back({name, tensor.sizes().vec(), tensor.numel(), tensor.strides().vec()});
  }
  return infos;
}

Arena::Arena(const BucketPlan& plan, const std::vector<NamedParameter>& parameters, std::byte* memory,
             Initial initial)
    : plan_(&plan), parameters_(parameters.rbegin(), parameters.rend()) {
  if (parameters_.size() != plan.slots.size()) {
    throw std::invalid_argument(
        fmt::format("{} parameters for a plan of {} slots", parameters_.size(), plan.slots.size()));
  }
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor home = view(i, memory);
    if (initial == Initial::write) home.copy_(parameters_[i].tensor);
    parameters_[i].tensor.set_data(home);
  }
}

at::Tensor Arena::view(std::size_t index, std::byte* base) const {
  const at::Tensor& parameter = parameters_.at(index).tensor;
  std::byte* first = base + static_cast<std::size_t>(plan_->slots[index].begin) * plan_->element_size;
  return at::from_blob(first, parameter.sizes(), parameter.strides(),
                       at::TensorOptions().dtype(parameter.scalar_type()));
}

}  // namespace kolo::fusion
