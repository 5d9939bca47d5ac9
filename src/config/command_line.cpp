#include "kolo/config/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>

#include "command_table.hpp"
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

const CommandRow& find_command(const std::vector<std::string>& arguments) {
  const auto rows = command_rows();
  if (arguments.empty()) return rows.front();
  const std::string& name = arguments.front();
  const auto row = std::ranges::find(rows, name, &CommandRow::name);
  if (row == rows.end()) {
    if (name.ends_with(".ini")) {
      throw ConfigError(fmt::format("unknown command {}", shown(name)), "a deck is given with --input FILE");
    }
    std::vector<std::string> names;
    for (const CommandRow& known : rows)
      names.emplace_back(known.name);
    const std::string hint = nearest_hint(name, names);
    throw ConfigError(fmt::format("unknown command {}", shown(name)), hint.empty() ? kSeeHelp : hint);
  }
  const std::size_t taken = row->topics.empty() ? 1 : 2;
  if (arguments.size() > taken) {
    throw ConfigError(fmt::format("kolo {}: unexpected argument {}", name, shown(arguments[taken])),
                      kSeeHelp);
  }
  return *row;
}

// The word after the command, for commands that need one.
std::string find_topic(const CommandRow& row, const std::vector<std::string>& arguments) {
  if (row.topics.empty()) return "";
  const std::vector<std::string> known = util::split(row.topics, '|');
  const std::string found = arguments.size() > 1 ? arguments[1] : "";
  if (std::ranges::find(known, found) != known.end()) return found;
  throw ConfigError(
      fmt::format("kolo {}: {}: expected {}{}", row.name, found.empty() ? "nothing follows" : shown(found),
                  known.size() > 1 ? "one of " : "", util::join(known, ", ")),
      nearest_hint(found, known));
}

// Options that the command does not take: those of the groups it does not accept.
void require_accepted(const CommandRow& row, const po::parsed_options& parsed, Accepts group,
                      const po::options_description& options) {
  if (row.accepts == group) return;
  for (const po::option& option : parsed.options) {
    if (option.string_key.empty() || options.find_nothrow(option.string_key, false) == nullptr) continue;
    throw ConfigError(fmt::format("kolo {} takes no --{}", row.name, option.string_key), kSeeHelp);
  }
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  const po::options_description run = run_options(line);
  const po::options_description bench = bench_options(line);
  po::options_description all = deck_options(line);
  for (const auto& group : {&run, &bench}) {
    for (const auto& option : group->options())
      all.add(option);
  }

  const po::parsed_options parsed = tokenize(argc, argv, all);
  require_values(parsed);
  const std::vector<std::string> arguments = positional_arguments(parsed);
  const CommandRow& row = find_command(arguments);
  line.command = row.command;
  line.topic = find_topic(row, arguments);
  require_accepted(row, parsed, Accepts::deck_and_run_options, run);
  require_accepted(row, parsed, Accepts::deck_and_bench_options, bench);
  try {
    po::variables_map values;
    po::store(parsed, values);
    po::notify(values);
  } catch (const po::error& malformed) {
    throw ConfigError(fmt::format("command line: {}", printable(malformed.what())), kSeeHelp);
  }
  return line;
}

}  // namespace kolo::config
