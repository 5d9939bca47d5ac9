// How a run that ended in order says so.
#pragma once

#include "kolo/app/run_context.hpp"
#include "kolo/train/trainer.hpp"

namespace kolo::app {

/// 0, or 75 when the run can go on.
ExitCode exit_code_of(const train::Outcome& outcome);
/// The reason, the best metric and where it is, the time split, the rate, the files, the command that
/// resumes; and summary.json.  Rank 0.
void report_end(RunContext& run, const train::Outcome& outcome, std::int64_t parameters);

}  // namespace kolo::app
