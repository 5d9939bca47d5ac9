// One short training job of `kolo plan`: started, awaited, and turned into a row of the table.
//
// A job is a whole launch of its own, `mpirun -n R kolo bench train`, so that it is placed and bound as the
// training will be.  Its output is kept to itself; what it measured comes back in a file, in a directory that
// is gone when the job is.
#pragma once

#include <optional>
#include <string>

#include "kolo/app/launch_plan_lines.hpp"
#include "kolo/util/subprocess.hpp"

namespace kolo::app {

/// `row` measured or failed; nothing when a signal ended it, which is in `interrupted` then.
struct JobResult {
  PlanRow row;
  std::optional<int> interrupted;
};
/// Throws CommError when the launcher cannot be started.
JobResult run_job(const LaunchSite& site, const JobTemplate& job, const PlanRow& row,
                  const util::HeldSignals& signals);

/// `row` after its job ended with `program` and left `json` (empty: nothing).
PlanRow read_results(PlanRow row, const util::ProgramResult& program, const std::string& json);

}  // namespace kolo::app
