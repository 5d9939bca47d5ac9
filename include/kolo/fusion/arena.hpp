// Binds a model's parameters to the arena: each becomes a view into one flat array, in its own memory format.
//
// Built before any gradient hook exists (`set_data` on a hooked parameter would leave the hook on a dead
// tensor).  Tied parameters are taken once, by identity.  The values the parameters had are copied in.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "kolo/fusion/bucket_plan.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::fusion {

struct NamedParameter {
  std::string name;
  at::Tensor tensor;
};

/// fp32 or fp64; throws std::invalid_argument for others.
DType dtype_of_tensor(const at::Tensor& tensor);

/// The parameters that are trained, each once, with what the plan needs to know.  All must have one element
/// type and be dense and non-overlapping.
std::vector<ParameterInfo> describe_parameters(const std::vector<NamedParameter>& parameters);
std::vector<NamedParameter> unique_trainable(const std::vector<NamedParameter>& parameters);

class Arena {
 public:
  /// `parameters` as given to plan_buckets (registration order); `memory` holds plan.size elements and
  /// outlives the tensors.
  enum class Initial { write, adopt };
  /// `initial`: write the parameters' values into the memory, or take what another rank writes there.
  Arena(const BucketPlan& plan, const std::vector<NamedParameter>& parameters, std::byte* memory,
        Initial initial);

  const BucketPlan& plan() const { return *plan_; }
  /// In arena order, parallel to plan().slots.
  const std::vector<NamedParameter>& parameters() const { return parameters_; }
  /// The stretch of the flat array at `base` that belongs to slot `index`, seen in the parameter's shape and
  /// strides.
  at::Tensor view(std::size_t index, std::byte* base) const;

 private:
  const BucketPlan* plan_;
  std::vector<NamedParameter> parameters_;
};

}  // namespace kolo::fusion
