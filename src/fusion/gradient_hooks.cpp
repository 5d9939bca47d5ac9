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
#include "kolo/util/time.hpp"

namespace kolo::fusion {

using torch::autograd::Variable;
using VariableList = std::vector<Variable>;

namespace {

// Convolutions hand over the gradients of their weights as (out, in, row, column); the arena may have them as
// (out, row, column, in).
bool moves_channels_last(const at::Tensor& home, const at::Tensor& source) {
  return home.dim() == 4 && source.is_contiguous() && home.is_contiguous(at::MemoryFormat::ChannelsLast);
}

// One pass over the gradient wherever it has one of the layouts autograd is known to deliver.
template <class T>
bool copy_into(at::Tensor& home, const at::Tensor& source, T limit) {
  if (source.scalar_type() == home.scalar_type()) {
    if (source.strides() == home.strides() || (source.is_contiguous() && home.is_contiguous())) {
      return util::copy_checked(home.data_ptr<T>(), source.data_ptr<T>(), home.numel(), limit);
    }
    if (moves_channels_last(home, source)) {
      return util::transpose_checked(home.data_ptr<T>(), source.data_ptr<T>(), home.size(0), home.size(1),
                                     home.size(2) * home.size(3), limit);
    }
  }
  home.copy_(source);
  return util::all_within(home.data_ptr<T>(), home.numel(), limit);
}

}  // namespace

struct GradientHooks::Hook final : torch::autograd::FunctionPreHook {
  Hook(GradientHooks* hooks, std::size_t slot_index) : owner(hooks), slot(slot_index) {}
  // AccumulateGrad does nothing with an undefined gradient.
  VariableList operator()(const VariableList& gradients) override {
    return owner->on_gradient(slot, gradients.at(0)) ? VariableList{at::Tensor()} : gradients;
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
    node->add_pre_hook(std::make_unique<Hook>(this, slot));
    nodes_.push_back(std::move(node));
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& node : nodes_) {
    std::erase_if(node->pre_hooks(), [this](const std::unique_ptr<torch::autograd::FunctionPreHook>& hook) {
      const auto* own = dynamic_cast<const Hook*>(hook.get());
      return own != nullptr && own->owner == this;
    });
  }
}

void GradientHooks::begin_step() {
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  next_bucket_ = 0;
  first_bad_slot_ = kNone;
  armed_ = false;
}

// True when the gradient is now the arena's.
bool GradientHooks::on_gradient(std::size_t slot, const at::Tensor& gradient) {
  if (!armed_ || !gradient.defined()) return false;
  const util::Stopwatch watch;
  const at::NoGradGuard no_grad;
  at::Tensor parameter = arena_.parameters()[slot].tensor;
  at::Tensor& earlier = parameter.mutable_grad();
  const bool finite = store(slot, earlier.defined() ? earlier.add_(gradient) : gradient);
  if (!finite && first_bad_slot_ == kNone) first_bad_slot_ = slot;
  earlier.reset();
  ++arrivals_[slot];
  hand_over_ready_buckets();
  seconds_ += watch.seconds();
  return true;
}

bool GradientHooks::store(std::size_t slot, const at::Tensor& gradient) {
  at::Tensor home = arena_.view(slot, gradients_);
  return home.scalar_type() == at::kDouble ? copy_into<double>(home, gradient, limit_)
                                           : copy_into<float>(home, gradient, static_cast<float>(limit_));
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
