// The watchdog of a run, and the words it ends one with.
#pragma once

#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// Starts run.watchdog as comm.timeout says.  Deaths of ranks are reported even with comm.timeout = 0.
/// Collective.
void start_watchdog(RunContext& run);
/// From now on the nodes' watchdogs tell each other what they see, through the run directory.  Collective.
void watch_over_nodes(RunContext& run);

}  // namespace kolo::app
