// The phases every subcommand goes through, and the one place where a run ends badly.
#pragma once

#include <optional>

#include "kolo/app/run_context.hpp"
#include "kolo/util/error.hpp"

namespace kolo::app {

/// Reads the command line; an error in it is kept for join_world.
void read_command_line(RunContext& run, int argc, char** argv);
/// Prints the answer to --help and --version, which need no MPI; true when that was all.
bool answer_without_mpi(const RunContext& run);
/// Runs a subcommand that takes no part in a job itself; nothing for the others.
std::optional<ExitCode> run_without_mpi(RunContext& run);
/// Starts MPI, refuses singletons, and lets the ranks agree on the command
/// line.  Collective.
void join_world(RunContext& run, int* argc, char*** argv);
/// Rank 0 reads the deck; every rank builds the same Config from it.  Collective.
void load_deck(RunContext& run);
/// Memory policy, core binding, threads, banner and rank table.  Collective.
void prepare_machine(RunContext& run);
/// The subcommand itself.  Collective.
ExitCode run_command(RunContext& run);

/// Prints the error line (once for the whole job), ends MPI the way the error allows, and returns the exit
/// code.
int report_failure(RunContext& run, const std::exception_ptr& error) noexcept;

}  // namespace kolo::app
