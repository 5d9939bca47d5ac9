// The slice optimizer bound to the arena, without its element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kolo/config/config.hpp"
#include "kolo/fusion/bucket_plan.hpp"
#include "kolo/fusion/exchange.hpp"
#include "kolo/optim/slice_optimizer.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::train {

class ArenaOptimizer {
 public:
  virtual ~ArenaOptimizer() = default;
  /// torch's names of the state arrays, in the order of ArenaMemory::states.
  virtual std::vector<std::string> state_names() const = 0;
  /// Elements [begin, end) of the arena at `memory`; `gradients` holds the summed gradient from element
  /// `begin` on.
  virtual void update(const fusion::ArenaMemory& memory, std::int64_t begin, std::int64_t end,
                      const std::byte* gradients, const optim::StepScalars& scalars) const = 0;
};

/// One segment a parameter; weight decay as optimizer.weight_decay and optimizer.no_decay say.
std::vector<optim::Segment> make_segments(const fusion::BucketPlan& plan,
                                          const config::OptimizerSection& section);

std::unique_ptr<ArenaOptimizer> make_arena_optimizer(const config::OptimizerSection& section,
                                                     const fusion::BucketPlan& plan, DType type);

}  // namespace kolo::train
