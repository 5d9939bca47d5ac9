// Going on from a checkpoint: which deck keys may differ, and whose batch wins.
#pragma once

#include <string>
#include <vector>

#include "kolo/config/load.hpp"
#include "kolo/train/run_state.hpp"

namespace kolo::app {

/// Throws ConfigError naming the first key whose value differs between the checkpoint's deck and `now`
/// although it changes what the numbers mean, with both values.
void require_same_deck(const std::string& stored_deck, const config::Config& now);

/// Throws ConfigError likewise for a global batch that was asked for.
void require_same_global_batch(std::int64_t asked, std::int64_t stored);

/// Throws ConfigError when the deck asks for less than has been done.
void require_not_past(const config::TrainSection& section, const train::RunState& state);

/// The checkpoint's global batch replaces the one that batch_per_rank and the present rank count would give.
void adopt_global_batch(config::Config& config, std::int64_t global_batch, std::int64_t batch_per_rank,
                        bool same_world_size);

/// How the ranks lie on nodes, from the node of each: "4" for one node, "2 x 4" for two of four ranks each,
/// "4 + 2", "4 x 1" for ranks that take turns.  Sums over ranks depend on it.
std::string describe_layout(const std::vector<std::string>& hosts);

/// Each kind of processor once, in the order of the ranks.
std::string name_processors(const std::vector<std::string>& of_ranks);

/// One line for each thing that keeps the resumed run from being bit-exact; empty when it will be.
std::vector<std::string> inexact_because(const train::RunIdentity& stored, const train::RunIdentity& now);

}  // namespace kolo::app
