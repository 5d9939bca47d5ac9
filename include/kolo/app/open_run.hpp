// The run directory, and whether the run is a new one or goes on: what happens between the deck and the
// model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kolo/app/run_context.hpp"
#include "kolo/io/checkpoint.hpp"
#include "kolo/train/run_state.hpp"

namespace kolo::app {

/// Whether there is certainly nothing to resume.  Collective.
bool starts_fresh(const RunContext& run);

/// Rank 0 opens the run directory (run.directory) and, when the run goes on, returns the checkpoint it goes
/// on from; the others return nothing.  Throws AgreedError.  Collective.
std::optional<io::Checkpoint> open_run_directory(RunContext& run);

/// From here on the directory's files are this run's: the links point at what it goes on from, and what is
/// only of earlier starts is removed.  Rank 0.  Throws CheckpointError.
void take_over_run_directory(RunContext& run, const std::optional<io::Checkpoint>& checkpoint);

/// The stored batch reaches every rank; the decks are compared where the checkpoint is.  Throws AgreedError.
/// Collective.
void adopt_stored_run(RunContext& run, const std::optional<io::Checkpoint>& checkpoint);

/// The file of --init-from for a new run, on rank 0.  Throws CheckpointError.
std::optional<io::Checkpoint> read_initial_weights(const RunContext& run);
/// Its parameters and buffers become the replica's on every rank.  Throws AgreedError.  Collective.
void take_initial_weights(RunContext& run, const std::optional<io::Checkpoint>& initial);

/// What stays exact, a line each.  Throws CheckpointError when the data are not those of the stored run.
std::vector<std::string> explain_resume(const RunContext& run, const io::Checkpoint& checkpoint,
                                        const train::RunIdentity& identity);

/// The effective deck as checkpoints hold it.
std::string deck_to_store(config::Config config, std::int64_t global_batch);

}  // namespace kolo::app
