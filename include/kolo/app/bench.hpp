// The measurements behind `kolo bench`.
//
// Each measures, prints its table on rank 0 and returns its results as JSON (rank 0's counts).  Collective.
#pragma once

#include <string>

#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// A training step and its parts on random images; see bench_train.hpp.
std::string bench_train(RunContext& run);
/// The gradient exchange over sizes, strategies and types.
std::string bench_allreduce(RunContext& run);
/// The loader alone.
std::string bench_data(RunContext& run);
/// What a checkpoint costs, by rank 0.
std::string bench_checkpoint(RunContext& run);

}  // namespace kolo::app
