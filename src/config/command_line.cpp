#include "kolo/config/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>

#include "command_table.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::config {
namespace {

namespace po = boost::program_options;

constexpr const char* kSeeHelp = "kolo --help lists commands and options";

std::vector<std::string> long_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options())
    names.push_back("--" + option->long_name());
  return names;
}

po::parsed_options tokenize(int argc, const char* const* argv, const po::options_description& options) {
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(argc, argv)
        .options(options)
        .style(style::default_style & ~style::allow_guessing)
        .run();
  } catch (const po::unknown_option& unknown) {
    const std::string hint = nearest_hint(unknown.get_option_name(), long_names(options));
    throw ConfigError(fmt::format("unknown option {}", shown(unknown.get_option_name())),
                      hint.empty() ? kSeeHelp : hint);
  } catch (const po::error& malformed) {
    throw ConfigError(fmt::format("command line: {}", printable(malformed.what())), kSeeHelp);
  }
}

std::vector<std::string> positional_arguments(const po::parsed_options& parsed) {
  std::vector<std::string> arguments;
  for (const po::option& option : parsed.options) {
    if (!option.string_key.empty()) continue;
    arguments.insert(arguments.end(), option.value.begin(), option.value.end());
  }
  return arguments;
}

// Boost takes a following option for the value of one whose value was left out.
void require_values(const po::parsed_options& parsed) {
  for (const po::option& option : parsed.options) {
    if (option.string_key.empty() || option.value.empty() || !option.value.front().starts_with("--"))
      continue;
    throw ConfigError(
        fmt::format("--{}: found {}: expected a value", option.string_key, shown(option.value.front())),
        kSeeHelp);
  }
}

// The rows of a command: one, or one for each word that may follow it.
std::vector<CommandRow> rows_of(const std::string& name) {
  std::vector<CommandRow> rows;
  std::vector<std::string> names;
  for (const CommandRow& row : command_rows()) {
    if (row.name == name) rows.push_back(row);
    names.emplace_back(row.name);
  }
  if (!rows.empty()) return rows;
  std::string hint = nearest_hint(name, names);
  if (name.ends_with(".ini")) hint = "a deck is given with --input FILE";
  throw ConfigError(fmt::format("unknown command {}", shown(name)), hint.empty() ? kSeeHelp : hint);
}

CommandRow find_topic(const std::vector<CommandRow>& rows, const std::string& found) {
  std::vector<std::string> topics;
  for (const CommandRow& row : rows) {
    if (row.topic == found) return row;
    topics.emplace_back(row.topic);
  }
  throw ConfigError(fmt::format("kolo {}: {}: expected one of {}", rows.front().name,
                                found.empty() ? "nothing follows" : shown(found), util::join(topics, ", ")),
                    nearest_hint(found, topics));
}

// The command, and what follows it: the second word of its name or the file it is about.
CommandRow find_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return command_rows().front();
  const std::vector<CommandRow> rows = rows_of(arguments.front());
  const CommandRow& row = rows.front();
  const std::size_t taken = row.topic.empty() && row.operand.empty() ? 1 : 2;
  if (arguments.size() > taken) {
    throw ConfigError(fmt::format("kolo {}: unexpected argument {}", row.name, shown(arguments[taken])),
                      kSeeHelp);
  }
  if (!row.operand.empty() && (arguments.size() < 2 || arguments[1].empty())) {
    throw ConfigError(fmt::format("kolo {}: nothing follows: expected {}", row.name, row.operand), kSeeHelp);
  }
  if (row.topic.empty()) return row;
  return find_topic(rows, arguments.size() > 1 ? arguments[1] : "");
}

// "bench train", or the command alone.
std::string full_name(const CommandRow& row) {
  return std::string(row.name) + (row.topic.empty() ? "" : " ") + std::string(row.topic);
}

// Refuses the options of a group that the command does not take.
void require_accepted(const CommandRow& row, const po::parsed_options& parsed, const OptionGroup& group) {
  if (row.takes(group.group)) return;
  for (const po::option& option : parsed.options) {
    if (option.string_key.empty() || group.options.find_nothrow(option.string_key, false) == nullptr)
      continue;
    throw ConfigError(fmt::format("kolo {} takes no --{}", full_name(row), option.string_key), kSeeHelp);
  }
}

// Without a name each start would make a directory of its own, and never find what there is to go on with.
void require_directory_to_resume(const CommandLine& line, const CommandRow& row) {
  if (line.resume == Resume::off || !line.run_dir.empty() || line.help || line.version) return;
  if (row.command != Command::train) return;
  throw ConfigError(fmt::format("--resume {}: there is no --run-dir to go on in", name_of(line.resume)),
                    "add --run-dir DIR: without it every start makes a new directory in runs/");
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  const std::vector<OptionGroup> groups = option_groups(line);
  po::options_description all = general_options(line);
  for (const OptionGroup& group : groups) {
    for (const auto& option : group.options.options())
      all.add(option);
  }

  const po::parsed_options parsed = tokenize(argc, argv, all);
  require_values(parsed);
  const std::vector<std::string> arguments = positional_arguments(parsed);
  const CommandRow row = find_command(arguments);
  line.command = row.command;
  line.topic = row.topic;
  if (!row.operand.empty()) line.operand = arguments.at(1);
  for (const OptionGroup& group : groups)
    require_accepted(row, parsed, group);
  try {
    po::variables_map values;
    po::store(parsed, values);
    po::notify(values);
  } catch (const po::error& malformed) {
    throw ConfigError(fmt::format("command line: {}", printable(malformed.what())), kSeeHelp);
  }
  if (line.min_bytes > line.max_bytes) {
    throw ConfigError(fmt::format("--max-bytes {}: expected at least --min-bytes, which is {}",
                                  line.max_bytes, line.min_bytes));
  }
  require_directory_to_resume(line, row);
  return line;
}

}  // namespace kolo::config
