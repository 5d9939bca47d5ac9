// The rows behind the command line and its help: subcommands, and the options each takes.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "kolo/config/command_line.hpp"

namespace kolo::config {

/// Options beyond the deck's; a subcommand takes some of these groups.
enum class Group : unsigned {
  run = 1,
  repeat = 2,
  sizes = 4,
  launch = 8,
  report = 16,
  files = 32,
  tensors = 64,
  deck = 128
};

constexpr unsigned operator|(Group a, Group b) { return static_cast<unsigned>(a) | static_cast<unsigned>(b); }
constexpr unsigned operator|(unsigned a, Group b) { return a | static_cast<unsigned>(b); }

struct CommandRow {
  std::string_view name;
  std::string_view topic;  ///< the word after the command; empty: none follows
  Command command;
  unsigned groups;  ///< of Group
  std::string_view help;
  std::string_view operand = {};  ///< the name of the argument that follows; empty: none does

  bool takes(Group group) const { return (groups & static_cast<unsigned>(group)) != 0; }
};

struct OptionGroup {
  Group group;
  boost::program_options::options_description options;
};

std::span<const CommandRow> command_rows();

/// Options of every subcommand; parsed values go to `line`.
boost::program_options::options_description general_options(CommandLine& line);
/// The groups of options that only some subcommands take; parsed values go to `line`.
std::vector<OptionGroup> option_groups(CommandLine& line);

}  // namespace kolo::config
