// How a run that fails says so: one line of the whole job, from one rank.
#pragma once

#include "kolo/app/run_context.hpp"
#include "kolo/util/error_text.hpp"

namespace kolo::app {

/// "rank 1 on node7: ", or nothing in a run of one rank.
std::string name_rank(const RunContext& run, int rank);

/// Prints the error line and its hint, and puts them into the log and summary.json.  Any thread.
void print_failure(const RunContext& run, const util::ErrorText& failure);

}  // namespace kolo::app
