#include "kolo/optim/slice_optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kolo/optim/kernels.hpp"
#include "kolo/util/error.hpp"

namespace kolo::optim {
namespace {

void check_segments(std::span<const Segment> segments) {
  std::int64_t last = 0;
  for (const Segment& segment : segments) {
    if (segment.begin < last || segment.end < segment.begin) {
      throw std::invalid_argument(fmt::format("segment [{}, {}) starts before {} or ends before it starts",
                                              segment.begin, segment.end, last));
    }
    last = segment.end;
  }
}

/// Calls f(begin, end, weight_decay) for the part of each segment that lies in [begin, end).
template <class F>
void for_each_part(std::span<const Segment> segments, std::int64_t begin, std::int64_t end, F&& f) {
  auto it = std::partition_point(segments.begin(), segments.end(),
                                 [&](const Segment& s) { return s.end <= begin; });
  for (; it != segments.end() && it->begin < end; ++it) {
    const std::int64_t lo = std::max(begin, it->begin);
    const std::int64_t hi = std::min(end, it->end);
    if (lo < hi) f(lo, hi, it->weight_decay);
  }
}

/// What the optimizers share: the segments and the names of their state arrays.
template <class T>
class SegmentedOptimizer : public SliceOptimizer<T> {
 public:
  SegmentedOptimizer(std::vector<Segment> segments, std::vector<std::string> names)
      : segments_(std::move(segments)), names_(std::move(names)) {
    check_segments(segments_);
  }

  std::span<const std::string> state_names() const override { return names_; }

 protected:
  std::span<const Segment> segments() const { return segments_; }

  void check_states(std::size_t count) const {
    if (count != names_.size()) {
      throw std::invalid_argument(
          fmt::format("{} optimizer state arrays, expected {}", count, names_.size()));
    }
  }

 private:
  std::vector<Segment> segments_;
  std::vector<std::string> names_;
};

std::vector<std::string> sgd_states(const config::OptimizerSection& section) {
  if (section.momentum == 0) return {};
  return {"momentum_buffer"};
}

template <class T>
class Sgd final : public SegmentedOptimizer<T> {
 public:
  Sgd(const config::OptimizerSection& section, std::vector<Segment> segments)
      : SegmentedOptimizer<T>(std::move(segments), sgd_states(section)),
        momentum_(section.momentum),
        nesterov_(section.nesterov) {}

  void update(T* params, const T* grads, std::span<T* const> states, std::int64_t begin, std::int64_t end,
              const StepScalars& scalars) const override {
    this->check_states(states.size());
    for_each_part(this->segments(), begin, end, [&](std::int64_t lo, std::int64_t hi, double weight_decay) {
      const SgdScalars<T> s{static_cast<T>(scalars.lr), static_cast<T>(momentum_),
                            static_cast<T>(weight_decay), static_cast<T>(scalars.grad_scale)};
      const std::int64_t n = hi - lo;
      if (momentum_ == 0) {
        sgd_plain(params + lo, grads + lo, n, s);
      } else if (nesterov_) {
        sgd_nesterov(params + lo, grads + lo, states[0] + lo, n, s);
      } else {
        sgd_momentum(params + lo, grads + lo, states[0] + lo, n, s);
      }
    });
  }

 private:
  double momentum_;
  bool nesterov_;
};

/// Adam (weight decay coupled: added to the gradient) and AdamW (decoupled: shrinks the parameter; Loshchilov
/// and Hutter).
template <class T>
class Adam final : public SegmentedOptimizer<T> {
 public:
  Adam(const config::OptimizerSection& section, std::vector<Segment> segments)
      : SegmentedOptimizer<T>(std::move(segments), {"exp_avg", "exp_avg_sq"}), section_(section) {}

  void update(T* params, const T* grads, std::span<T* const> states, std::int64_t begin, std::int64_t end,
              const StepScalars& scalars) const override {
    this->check_states(states.size());
    AdamScalars<T> s = step_scalars(scalars);
    for_each_part(this->segments(), begin, end, [&](std::int64_t lo, std::int64_t hi, double weight_decay) {
      const bool decoupled = section_.name == config::OptimizerName::adamw;
      s.coupled = static_cast<T>(decoupled ? 0 : weight_decay);
      s.param_factor = static_cast<T>(decoupled ? 1 - scalars.lr * weight_decay : 1);
      adam(params + lo, grads + lo, states[0] + lo, states[1] + lo, hi - lo, s);
    });
  }

 private:
  AdamScalars<T> step_scalars(const StepScalars& scalars) const {
    const double step = static_cast<double>(scalars.step);
    const double bias1 = 1 - std::pow(section_.beta1, step);
    const double bias2 = 1 - std::pow(section_.beta2, step);
    AdamScalars<T> s{};
    s.beta1 = static_cast<T>(section_.beta1);
    s.one_minus_beta1 = static_cast<T>(1 - section_.beta1);
    s.beta2 = static_cast<T>(section_.beta2);
    s.one_minus_beta2 = static_cast<T>(1 - section_.beta2);
    s.eps = static_cast<T>(section_.eps);
    s.step_size = static_cast<T>(scalars.lr / bias1);
    s.sqrt_bias2 = static_cast<T>(std::sqrt(bias2));
    s.grad_scale = static_cast<T>(scalars.grad_scale);
    return s;
  }

  config::OptimizerSection section_;
};

}  // namespace

template <class T>
std::unique_ptr<SliceOptimizer<T>> make_optimizer(const config::OptimizerSection& section,
                                                  std::vector<Segment> segments) {
  if (section.name != config::OptimizerName::sgd)
    return std::make_unique<Adam<T>>(section, std::move(segments));
  if (section.nesterov && section.momentum == 0) {
    throw ConfigError("optimizer.nesterov = true with optimizer.momentum = 0: expected a momentum above 0",
                      "set optimizer.momentum (0.9 is usual) or optimizer.nesterov = false");
  }
  return std::make_unique<Sgd<T>>(section, std::move(segments));
}

template std::unique_ptr<SliceOptimizer<float>> make_optimizer(const config::OptimizerSection&,
                                                               std::vector<Segment>);
template std::unique_ptr<SliceOptimizer<double>> make_optimizer(const config::OptimizerSection&,
                                                                std::vector<Segment>);

}  // namespace kolo::optim
