// From command line and deck to a checked Config.
//
// Precedence: --set over deck over defaults.  Every value is checked where it was written, even one that is
// overridden; then what keys say about each other is checked, as far as it does not depend on the number of
// ranks.  The first problem ends it with one ConfigError that names the place.  Relative paths in a deck
// start at the current directory, not at the deck's.  Does no I/O, so every rank can do it from the same
// text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kolo/config/command_line.hpp"
#include "kolo/config/config.hpp"
#include "kolo/config/deck.hpp"

namespace kolo::config {

struct LoadedConfig {
  Config config;
  std::map<std::string, std::string> origins;  ///< key -> "deck.ini:12" or "--set", for keys that were set

  bool is_set(const std::string& key) const { return origins.contains(key); }
  /// "deck.ini:12", "--set" or "default".
  std::string_view origin(const std::string& key) const;
};

/// `defaults` are the values of keys that neither the deck nor --set names.  Throws ConfigError.
LoadedConfig load_config(const CommandLine& line, const std::optional<DeckText>& deck,
                         const Config& defaults = {});

/// Throws ConfigError for the first pair of keys that contradict each other.
void cross_check(const LoadedConfig& loaded);

}  // namespace kolo::config
