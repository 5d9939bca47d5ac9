#include <fmt/format.h>

#include <sstream>

#include "command_table.hpp"
#include "kolo/config/command_line.hpp"
#include "kolo/config/option_table.hpp"
#include "kolo/util/error.hpp"

namespace kolo::config {
namespace {

struct ExitRow {
  ExitCode code;
  std::string_view meaning;
};

constexpr ExitRow kExitRows[] = {
    {ExitCode::finished, "finished"},
    {ExitCode::internal, "internal error"},
    {ExitCode::usage, "command line or deck"},
    {ExitCode::data, "data set missing, damaged or of the wrong shape"},
    {ExitCode::checkpoint, "checkpoint missing, damaged or not of this run"},
    {ExitCode::comm, "launch or communication"},
    {ExitCode::diverged, "diverged: non-finite loss or gradient"},
    {ExitCode::resumable, "stopped early; the same command with --resume auto goes on"},
};

std::string deck_text() {
  Config defaults;
  const OptionTable table(defaults);
  std::string text =
      "Deck keys (in a deck: [section] and key = value; on the command line: --set section.key=value):\n";
  std::string_view section;
  for (const Option& option : table.options()) {
    if (option.section != section) text += '\n';
    section = option.section;
    const std::string_view blank = option.default_value.empty() ? "" : " ";
    text += fmt::format("  {} ={}{}\n      {}\n      {}\n", option.key(), blank, option.default_value,
                        option.help, option.expected);
  }
  return text;
}

}  // namespace

std::string help_text() {
  CommandLine unused;
  std::ostringstream text;
  text << "Usage: kolo [COMMAND] [OPTIONS]\n"
          "       mpirun -n 4 kolo --input deck.ini --run-dir runs/a --set optimizer.lr=0.002\n\nCommands:\n";
  for (const CommandRow& row : command_rows())
    text << fmt::format("  {:16} {}\n", fmt::format("{} {}{}", row.name, row.topic, row.operand), row.help);
  text << '\n' << general_options(unused);
  for (const OptionGroup& group : option_groups(unused))
    text << '\n' << group.options;
  text << "\nExit codes:\n";
  for (const ExitRow& row : kExitRows)
    text << fmt::format("  {:3} {}\n", static_cast<int>(row.code), row.meaning);
  text << '\n' << deck_text();
  return text.str();
}

}  // namespace kolo::config
