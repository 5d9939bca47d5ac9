// From a checked Config and the data to everything a run needs to know before step 1, and its printed form.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kolo/app/run_context.hpp"
#include "kolo/model/network.hpp"
#include "kolo/train/geometry.hpp"

namespace kolo::app {

/// The deck's model for images and classes of `set`, with the initial weights of run.seed.  Throws
/// ConfigError.
std::shared_ptr<model::Network> build_network(const config::Config& config, const data::Dataset& set);

/// Opens the data sets (run.data) and builds the network with its initial weights.  Collective.
std::shared_ptr<model::Network> open_data_and_network(RunContext& run);

/// Samples a step and a rank.  Throws AgreedError (code 2) for batch sizes that do not fit.  Collective.
train::Geometry plan_geometry(RunContext& run, const model::Network& network);

/// What the ranks must have in common before they exchange anything.
std::vector<std::string> handshake_items(const RunContext& run);

/// Data, model, batch, learning rate, exchange and memory (measured on a few samples), a line each.  Must
/// come before the network's parameters are hooked.
std::vector<std::string> describe_plan(const RunContext& run, model::Network& network,
                                       const train::Geometry& geometry, const fusion::StrategyChoice& choice);

}  // namespace kolo::app
