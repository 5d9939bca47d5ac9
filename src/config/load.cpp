#include "kolo/config/load.hpp"

#include <fmt/format.h>

#include "kolo/config/option_table.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::config {
namespace {

void apply_sets(const std::vector<std::string>& sets, OptionTable& table, LoadedConfig& loaded) {
  constexpr const char* kOrigin = "--set";
  for (const std::string& text : sets) {
    const std::size_t equals = text.find('=');
    const std::string key(util::trim(std::string_view(text).substr(0, equals)));
    if (equals == std::string::npos || key.empty()) {
      throw ConfigError(fmt::format("{} {}: expected section.key=value", kOrigin, shown(text)));
    }
    table.set(key, std::string(util::trim(std::string_view(text).substr(equals + 1))), kOrigin);
    if (loaded.origin(key) == kOrigin) throw ConfigError(fmt::format("{}: repeated key {}", kOrigin, key));
    loaded.origins[key] = kOrigin;
  }
}

}  // namespace

std::string_view LoadedConfig::origin(const std::string& key) const {
  const auto found = origins.find(key);
  return found == origins.end() ? std::string_view("default") : std::string_view(found->second);
}

LoadedConfig load_config(const CommandLine& line, const std::optional<DeckText>& deck,
                         const Config& defaults) {
  LoadedConfig loaded{defaults, {}};
  OptionTable table(loaded.config);
  if (deck) {
    for (const DeckEntry& entry : parse_deck(deck->text, deck->name).entries) {
      const std::string origin = fmt::format("{}:{}", deck->name, entry.line);
      table.set(entry.key, entry.value, origin);
      loaded.origins[entry.key] = origin;
    }
  }
  apply_sets(line.sets, table, loaded);
  cross_check(loaded);
  return loaded;
}

}  // namespace kolo::config
