// When Slurm is going to end the job this process runs in.
//
// Newer versions say so in SLURM_JOB_END_TIME; older ones have to be asked.  squeue is a program of its own
// that may be missing (in a container) or slow (a busy controller), so it gets a few seconds and is asked
// once, before MPI is started, because MPI does not like its processes to start others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kolo::comm {

/// Seconds of "[[days-]hours:]minutes:seconds", as squeue -o %L prints the time left; nothing for UNLIMITED,
/// INVALID and anything else.
std::optional<std::int64_t> parse_time_left(std::string_view text);

/// Seconds since 1970; nothing outside a job, without a time limit, or where Slurm does not answer.  Call
/// while there is one thread and no MPI.
std::optional<std::int64_t> ask_slurm_for_job_end();

}  // namespace kolo::comm
