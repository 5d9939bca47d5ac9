// The command line: a subcommand, options that say which run, and --set for single deck keys.
//
// parse_command_line() only reads its arguments: no file, no environment, no output.  Subcommands and exit
// codes are tables (command_line.cpp, help_text.cpp); --help is made from them and from the option table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kolo/config/config.hpp"

namespace kolo::config {

enum class Command { train, check, bench, doctor, plan, inspect, verify };

struct CommandLine {
  Command command = Command::train;
  bool help = false;
  bool version = false;
  std::string input;              ///< deck file; empty: none given
  std::vector<std::string> sets;  ///< "section.key=value", as given, in order; load_config() reads them
  std::string run_dir;            ///< empty: none given
  Resume resume = Resume::off;
  std::string init_from;  ///< checkpoint whose weights a new run begins with; empty: none
  std::optional<std::int64_t> stop_after_epochs;  ///< >= 1
  std::optional<double> max_seconds;              ///< > 0
  std::string operand;          ///< the file or directory of `kolo inspect` and `kolo verify`
  std::string directory = ".";  ///< bench checkpoint: where it writes
  bool tensors = false;         ///< inspect: a line for each tensor
  std::string topic;         ///< what follows the command, e.g. "train" in `kolo bench train`; empty: nothing
  std::string json;          ///< file for the results as JSON; empty: none asked for
  std::int64_t steps = 60;   ///< counted repetitions of a benchmark, >= 1
  std::int64_t warmup = 10;  ///< repetitions before them, >= 0
  std::int64_t min_bytes = std::int64_t{4} << 10;   ///< bench allreduce: smallest message, >= 1
  std::int64_t max_bytes = std::int64_t{64} << 20;  ///< and the largest, >= min_bytes
  Launcher launcher = Launcher::mpirun;             ///< what `kolo plan` starts its jobs with
};

/// Options are taken by their full names only.  Throws ConfigError for anything that is not of `kolo --help`.
CommandLine parse_command_line(int argc, const char* const* argv);

/// What `kolo --help` prints: usage, subcommands, options, exit codes, and every deck key with default and
/// accepted values.
std::string help_text();

}  // namespace kolo::config
