// The file of --json: refused before minutes of measuring, written whole or not at all.
#pragma once

#include <string>

#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// Throws ConfigError when `path` cannot be written.
void require_writable(const std::string& path);
/// Replaces a file whole, what a link points to included; writes into a pipe or device that is there.  Throws
/// CheckpointError or ConfigError.
void write_report(const std::string& path, const std::string& json);

/// Throws AgreedError (code 2) when --json names a file that rank 0 cannot write.  Collective.
void require_writable_json(const RunContext& run);
/// Rank 0's `json`, if --json asks for it.  Throws AgreedError.  Collective.
void write_json(const RunContext& run, const std::string& json);

}  // namespace kolo::app
