// How many samples an update, a rank and a forward pass take.
//
// The global batch is the samples of one update and what the mathematics of a run depends on; the other two
// say how it is worked off.  When the global batch does not divide evenly, some passes take fewer samples:
//   batch_per_rank x world size x accumulate >= global_batch.
#pragma once

#include <cstdint>

#include "kolo/config/config.hpp"

namespace kolo::config {

struct BatchGeometry {
  std::int64_t global_batch;  ///< samples an update, over all ranks; >= world size x accumulate, or >= world
                              ///< size where accumulate was derived
  std::int64_t batch_per_rank;  ///< samples of a rank in one forward pass, at most
  std::int64_t accumulate;      ///< forward passes of a rank an update, at most

  bool operator==(const BatchGeometry&) const = default;
};

/// Fills in what the deck leaves open.  Without either batch size the global batch is 128.  With both and
/// accumulate = 1, accumulate becomes what they need.  `train` is of a loaded Config; `world_size` >= 1.
/// Throws ConfigError when a rank or a forward pass would be left without samples, or when the three keys
/// contradict each other.
BatchGeometry resolve_batch(const TrainSection& train, int world_size);

}  // namespace kolo::config
