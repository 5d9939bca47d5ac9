// What stops a run before its end: signals, a STOP file, --max-time, and the end of the Slurm job.
#pragma once

#include <functional>
#include <string>

#include "kolo/app/run_context.hpp"
#include "kolo/train/stop.hpp"

namespace kolo::app {

/// Every rank sees its own signals; files and clocks are rank 0's.  `save_seconds`: how long a checkpoint
/// takes by what was seen so far; called on rank 0 only.
train::StopPoll make_poll(const RunContext& run, std::function<double()> save_seconds);

/// One line about SLURM_JOB_END_TIME; empty without it.
std::string describe_job_end(const RunContext& run);

}  // namespace kolo::app
