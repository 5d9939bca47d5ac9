// How this process was launched, read from the environment before MPI is started.
//
// The launcher says through variables how many copies it started.  When MPI then reports a world of one, the
// copies did not find each other ("silent singletons"): each would train alone and they would overwrite each
// other's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kolo::comm {

struct LaunchEnvironment {
  std::optional<int> tasks;  ///< copies the launcher started
  std::optional<int> rank;   ///< this copy's number among them
  std::string source;        ///< the variable `tasks` came from
  /// When the batch job is going to be ended, in seconds since 1970 (SLURM_JOB_END_TIME, or slurm_job.hpp).
  std::optional<std::int64_t> job_end;
};

/// OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_STEP_NUM_TASKS and the ranks beside them, and SLURM_JOB_END_TIME.
/// SLURM_NTASKS does not count: every batch shell has it.
LaunchEnvironment read_launch_environment();

/// Throws CommError when `launch` says more than one copy but MPI says `world_size` 1.
void require_joined_world(const LaunchEnvironment& launch, int world_size);

}  // namespace kolo::comm
