// `kolo bench train`: what a training step costs here, and what of it is due to the other ranks.
#pragma once

#include <string>

#include "kolo/app/run_context.hpp"
#include "kolo/train/step.hpp"

namespace kolo::app {

/// Milliseconds; of each, the median over the steps.
struct StepCost {
  double step = 0;      ///< the slowest rank's
  double step_p95 = 0;  ///< likewise, 95th percentile
  double data = 0;      ///< the parts are means over ranks
  double forward = 0;
  double backward = 0;
  double exchange = 0;
  double update = 0;
};

struct BenchTrainResult {
  StepCost together;         ///< all ranks as one job
  StepCost alone;            ///< each rank for itself, all at the same time
  double samples_per_s = 0;  ///< of the whole job
  /// Milliseconds in which this node copies as many bytes as exchange and update must move at least: every
  /// rank's gradients copied into the arena and read there, weights and optimizer state read and written.  0
  /// unless the strategy is `shared` on one node.
  double move_limit = 0;
  int ranks = 1;
  int threads = 1;                  ///< a rank
  std::int64_t batch_per_rank = 0;  ///< samples of one forward pass
  std::int64_t accumulate = 1;      ///< forward passes a step
  std::int64_t parameters = 0;
  std::string model;
  std::string optimizer;
  std::string strategy;
};

/// Random images of the deck's shape, the same batch every step, at a learning rate next to nothing; all
/// ranks together and each alone by turns.  Throws AgreedError (code 6) when a step was not applied.
/// Collective.
BenchTrainResult measure_training(RunContext& run);
std::string to_json(const BenchTrainResult& result);

}  // namespace kolo::app
