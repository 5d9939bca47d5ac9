// What a run says before it begins: who it is, and where each rank computes.
#pragma once

#include <string>

#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// One line: version, git state, build.
std::string version_text();
/// Versions (headers and what runs) and one line per rank in rank order; rank 0 prints.  Collective.
void print_banner(const RunContext& run);
/// Name of this machine's processor, with the instruction set libtorch uses.
std::string processor_name();

}  // namespace kolo::app
