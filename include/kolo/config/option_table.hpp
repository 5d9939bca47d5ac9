// The one table of deck keys: "section.key", the member of a Config it sets, help text and accepted values.
//
// The deck reader, --set, --help, the effective deck and the texts of errors all come from it, so none can
// drift from the others.  A table is bound to one Config: it writes to and prints from that object, whose
// values at construction are the defaults.  To add a key: a member in config.hpp and a row in
// option_rows.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/config/config.hpp"

namespace kolo::config {

struct Option {
  std::string section;
  std::string name;
  std::string help;           ///< what it does, in lower case, without a full stop
  std::string expected;       ///< the accepted values: "an integer from 1 to 1000000"
  std::string default_value;  ///< as print() gave it when the table was made

  /// Sets the member from text.  False, with the member unchanged, when the text is not an accepted value.
  std::function<bool(const std::string&)> assign;
  /// The member's value now, as a deck spells it; numbers round-trip exactly.
  std::function<std::string()> print;

  /// "section.name"
  std::string key() const { return section + "." + name; }
};

class OptionTable {
 public:
  /// `config` must outlive the table.
  explicit OptionTable(Config& config);

  /// In the order of the sections and members of Config.
  std::span<const Option> options() const { return options_; }
  std::vector<std::string> sections() const;
  std::vector<std::string> keys() const;

  /// Null for an unknown key.
  const Option* find(std::string_view key) const;

  /// Keys that the writer of an unknown key may have meant: those of the same name in other sections, else
  /// the nearest.
  std::vector<std::string> similar_keys(std::string_view key) const;

  /// Throws ConfigError, "<origin>: unknown key ..." or "<origin>: key = value: expected ...".
  /// `origin` says where the value was written: "deck.ini:12" or "--set".
  void set(std::string_view key, const std::string& value, std::string_view origin);

 private:
  std::vector<Option> options_;
};

}  // namespace kolo::config
