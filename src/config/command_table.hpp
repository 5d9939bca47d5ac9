// The rows behind the command line and its help: subcommands, and the options each takes.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <span>
#include <string_view>

#include "kolo/config/command_line.hpp"

namespace kolo::config {

enum class Accepts { deck_options, deck_and_run_options, deck_and_bench_options };

struct CommandRow {
  std::string_view name;
  Command command;
  Accepts accepts;
  std::string_view help;
  std::string_view topics = {};  ///< what may follow the command, separated by '|'; one of them must
};

std::span<const CommandRow> command_rows();

/// Options of every subcommand; parsed values go to `line`.
boost::program_options::options_description deck_options(CommandLine& line);
/// Options of subcommands that train; parsed values go to `line`.
boost::program_options::options_description run_options(CommandLine& line);
/// Options of benchmarks; parsed values go to `line`.
boost::program_options::options_description bench_options(CommandLine& line);

}  // namespace kolo::config
