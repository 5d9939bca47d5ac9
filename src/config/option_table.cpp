#include "kolo/config/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"
#include "option_rows.hpp"

namespace kolo::config {

OptionTable::OptionTable(Config& config) : options_(option_rows(config)) {
  for (Option& option : options_)
    option.default_value = option.print();
}

std::vector<std::string> OptionTable::sections() const {
  std::vector<std::string> names;
  for (const Option& option : options_) {
    if (names.empty() || names.back() != option.section) names.push_back(option.section);
  }
  return names;
}

std::vector<std::string> OptionTable::keys() const {
  std::vector<std::string> names;
  for (const Option& option : options_)
    names.push_back(option.key());
  return names;
}

const Option* OptionTable::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(options_, [&](const Option& option) { return option.key() == key; });
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> OptionTable::similar_keys(std::string_view key) const {
  const std::string_view name = key.substr(key.find_last_of('.') + 1);
  std::vector<std::string> similar;
  for (const Option& option : options_) {
    if (option.name == name) similar.push_back(option.key());
  }
  const std::vector<std::string> known = keys();
  if (const auto near = util::nearest(key, known); near && similar.size() != 1) return {*near};
  return similar;
}

void OptionTable::set(std::string_view key, const std::string& value, std::string_view origin) {
  const Option* option = find(key);
  if (option == nullptr) {
    throw ConfigError(fmt::format("{}: unknown key {}", origin, shown(key)), did_you_mean(similar_keys(key)));
  }
  if (!option->assign(value)) {
    throw ConfigError(fmt::format("{}: {} = {}: expected {}", origin, key, shown(value), option->expected));
  }
}

}  // namespace kolo::config
