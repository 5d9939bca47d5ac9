#include "kolo/config/effective_deck.hpp"

#include <fmt/format.h>

#include "kolo/config/option_table.hpp"

namespace kolo::config {

std::string effective_deck(const Config& config) {
  Config copy = config;
  const OptionTable table(copy);
  std::string text = "# Every key of the run with the value in force; a deck that can be given to --input.\n";
  std::string_view section;
  for (const Option& option : table.options()) {
    if (option.section != section) text += fmt::format("\n[{}]\n", option.section);
    section = option.section;
    const std::string value = option.print();
    text += fmt::format("# {} ({})\n", option.help, option.expected);
    text += fmt::format("{} ={}{}\n", option.name, value.empty() ? "" : " ", value);
  }
  return text;
}

}  // namespace kolo::config
