// How a run that ended in order says so.
#pragma once

#include "kolo/app/run_context.hpp"
#include "kolo/app/run_keeper.hpp"
#include "kolo/train/trainer.hpp"

namespace kolo::app {

/// 0, or 75 when the run can go on.
ExitCode exit_code_of(const train::Outcome& outcome);
/// The reason, the best metric and where it is, the time split, the rate, the files, the command that
/// resumes; and summary.json.  `memory`: from describe_node_memory.  Rank 0.
void report_end(RunContext& run, const train::Outcome& outcome, std::int64_t parameters,
                const KeeperTotals& checkpoints, const std::string& memory);

/// What the ranks of this node take, from /proc; empty where the kernel does not say.  Collective over the
/// node.
std::string describe_node_memory(const RunContext& run);

}  // namespace kolo::app
