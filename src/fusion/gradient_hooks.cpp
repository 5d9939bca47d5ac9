#include "kolo/fusion/gradient_hooks.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>

#include "kolo/util/array_kernels.hpp"
#include "kolo/util/error.hpp"

namespace kolo::fusion {

using torch::autograd::Variable;
using VariableList = std::vector<Variable>;

struct GradientHooks::Hook final : torch::autograd::FunctionPostHook {
  Hook(GradientHooks* hooks, std::size_t slot_index) : owner(hooks), slot(slot_index) {}
  VariableList operator()(const VariableList& outputs, const VariableList& /*inputs*/) override {
    owner->on_gradient(slot);
    return outputs;
  }
  GradientHooks* owner;
  std::size_t slot;
};

GradientHooks::GradientHooks(const Arena& arena, std::byte* gradients, double limit, BucketReady ready)
    : arena_(arena),
      gradients_(gradients),
      limit_(limit),
      ready_(std::move(ready)),
      arrivals_(arena.parameters().size(), 0) {
  for (std::size_t slot = 0; slot < arena.parameters().size(); ++slot) {
    auto node = torch::autograd::impl::grad_accumulator(arena.parameters()[slot].tensor);
    keys_.push_back(node->add_post_hook(std::make_unique<Hook>(this, slot)));
    nodes_.push_back(std::move(node));
  }
}

GradientHooks::~GradientHooks() {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    nodes_[i]->del_post_hook(keys_[i]);
}

void GradientHooks::begin_step() {
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  next_bucket_ = 0;
  first_bad_slot_ = kNone;
  armed_ = false;
}

void GradientHooks::on_gradient(std::size_t slot) {
  if (!armed_) return;
  at::Tensor& gradient = arena_.parameters()[slot].tensor.mutable_grad();
  if (!store(slot, gradient) && first_bad_slot_ == kNone) first_bad_slot_ = slot;
  gradient.reset();
  ++arrivals_[slot];
  hand_over_ready_buckets();
}

bool GradientHooks::store(std::size_t slot, const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  at::Tensor home = arena_.view(slot, gradients_);
  at::Tensor source = gradient;
  if (source.strides() != home.strides() || source.scalar_type() != home.scalar_type()) {
    home.copy_(source);
    source = home;
  }
  return home.scalar_type() == at::kDouble
             ? util::copy_checked(home.data_ptr<double>(), source.data_ptr<double>(), home.numel(), limit_)
             : util::copy_checked(home.data_ptr<float>(), source.data_ptr<float>(), home.numel(),
                                  static_cast<float>(limit_));
}

void GradientHooks::hand_over_ready_buckets() {
  const std::vector<Bucket>& buckets = arena_.plan().buckets;
  while (next_bucket_ < buckets.size()) {
    const Bucket& bucket = buckets[next_bucket_];
    const auto first = arrivals_.begin() + static_cast<std::ptrdiff_t>(bucket.first_slot);
    const auto last = arrivals_.begin() + static_cast<std::ptrdiff_t>(bucket.last_slot);
    if (std::find(first, last, 0) != last) return;
    ++next_bucket_;  // first: when the exchange throws, the bucket counts as handed over
    ready_(bucket);
  }
}

void GradientHooks::require_complete() {
  armed_ = false;
  const auto wrong = std::find_if(arrivals_.begin(), arrivals_.end(), [](int count) { return count != 1; });
  if (wrong == arrivals_.end()) return;
  const std::string& name = arena_.parameters()[static_cast<std::size_t>(wrong - arrivals_.begin())].name;
  throw Error(
      ExitCode::internal,
      fmt::format("parameter {} got {} gradients in one backward pass, expected 1", name, *wrong),
      *wrong == 0 ? "the model's forward pass does not use it" : "it is reached by several backward passes");
}

void GradientHooks::contribute_zeros() {
  armed_ = false;
  const std::vector<Bucket>& buckets = arena_.plan().buckets;
  while (next_bucket_ < buckets.size()) {
    const Bucket& bucket = buckets[next_bucket_++];
    const std::size_t unit = arena_.plan().element_size;
    std::memset(gradients_ + static_cast<std::size_t>(bucket.begin) * unit, 0,
                static_cast<std::size_t>(bucket.size()) * unit);
    ready_(bucket);
  }
  for (const NamedParameter& parameter : arena_.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad().reset();
  }
}

std::string GradientHooks::first_nonfinite() const {
  return finite() ? "" : arena_.parameters()[first_bad_slot_].name;
}

}  // namespace kolo::fusion
