// The subcommands.  Each is collective, unless it says otherwise, and returns the exit code of a run that
// went as it should.
#pragma once

#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// Trains, from the start or from a checkpoint.
ExitCode train_command(RunContext& run);
/// Measures; what, is the word after `bench`.
ExitCode bench_command(RunContext& run);
/// Looks at the machine and the launch; code 5 when a finding needs mending.
ExitCode doctor_command(RunContext& run);
/// Parses, validates, plans and touches the data, without training.
ExitCode check_command(RunContext& run);

/// Says what the file of `kolo inspect` holds; code 4 when it is damaged.  Without MPI.
ExitCode inspect_command(const RunContext& run);
/// Checks the files of a run directory; code 4 when one is damaged.  Without MPI.
ExitCode verify_command(const RunContext& run);

/// Starts short jobs for the ranks x threads of this node and advises.  Runs outside MPI, on its own.
ExitCode plan_command(RunContext& run);

}  // namespace kolo::app
