// Optimizers that update any slice of flat arrays.
//
// Parameters, gradients and optimizer state are flat arrays indexed by the same position (the arena's), so
// the owner of a slice updates it in one pass without knowing which parameters lie there.  Each element's new
// value depends on that element alone: cutting an update into slices, in any order and on any ranks, never
// changes a bit.
//
// Formulas and their order of operations are those of torch.optim.SGD, Adam and AdamW (without dampening,
// amsgrad and maximize).  Scalars such as the learning rate are computed in fp64 and rounded to the element
// type once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kolo/config/config.hpp"

namespace kolo::optim {

/// A parameter group: the elements [begin, end).  Elements in no segment (alignment padding) are never
/// touched.
struct Segment {
  std::int64_t begin;
  std::int64_t end;
  double weight_decay;
};

struct StepScalars {
  double lr;
  std::int64_t step;      ///< updates so far, this one included: 1 at the first (Adam's bias correction)
  double grad_scale = 1;  ///< gradients are multiplied by it on the fly, e.g. to clip them
};

/// T is float or double.  Holds no state and owns none of the arrays: update() may run on disjoint slices at
/// once.
template <class T>
class SliceOptimizer {
 public:
  virtual ~SliceOptimizer() = default;

  /// torch's names of the state arrays, in the order that update() takes them; the owner zero-initialises the
  /// arrays.
  virtual std::span<const std::string> state_names() const = 0;

  /// Updates the elements [begin, end) of `params` and of each array in `states`; nothing outside is read or
  /// written. The arrays must not overlap.  Throws std::invalid_argument when `states` does not match
  /// state_names().
  virtual void update(T* params, const T* grads, std::span<T* const> states, std::int64_t begin,
                      std::int64_t end, const StepScalars& scalars) const = 0;
};

/// Uses name, momentum, nesterov, beta1, beta2 and eps; weight decay comes with the segments.
/// Throws ConfigError for nesterov without momentum, std::invalid_argument unless the segments are sorted and
/// disjoint.
template <class T>
std::unique_ptr<SliceOptimizer<T>> make_optimizer(const config::OptimizerSection& section,
                                                  std::vector<Segment> segments);

extern template std::unique_ptr<SliceOptimizer<float>> make_optimizer(const config::OptimizerSection&,
                                                                      std::vector<Segment>);
extern template std::unique_ptr<SliceOptimizer<double>> make_optimizer(const config::OptimizerSection&,
                                                                       std::vector<Segment>);

}  // namespace kolo::optim
