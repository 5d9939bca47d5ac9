// How a run that fails says so: one line of the whole job, from one rank.
#pragma once

#include <string>

#include "kolo/app/run_context.hpp"
#include "kolo/util/error_text.hpp"

namespace kolo::app {

/// "rank 1 on node7: ", or nothing in a run of one rank.
std::string name_rank(const RunContext& run, int rank);

/// Lines on standard error, in one piece and not behind a progress bar.  Any thread, as all of these.
void write_to_standard_error(const RunContext& run, const std::string& text);
/// The error line and its hint on standard error.
void print_error_line(const RunContext& run, const util::ErrorText& failure);
/// summary.json of a run that owns its directory; failing to write it is not worth a word.
void note_in_summary(const RunContext& run, const util::ErrorText& failure);
/// What print_error_line() says, in log.txt.
void log_failure(const util::ErrorText& failure);
/// All three.
void print_failure(const RunContext& run, const util::ErrorText& failure);

}  // namespace kolo::app
