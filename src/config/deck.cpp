#include "kolo/config/deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "kolo/config/option_table.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::config {
namespace {

std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

class DeckParser {
 public:
  explicit DeckParser(const std::string& name) : table_(defaults_), sections_(table_.sections()) {
    deck_.name = name;
  }

  void take(std::string_view line) {
    ++line_;
    require_text(line);
    const std::string_view content = util::trim(without_comment(line));
    if (content.empty()) return;
    if (content.front() == '[') {
      take_header(content);
    } else {
      take_entry(content);
    }
  }

  Deck finish() { return std::move(deck_); }

 private:
  [[noreturn]] void fail(const std::string& problem, std::string hint = {}) const {
    throw ConfigError(fmt::format("{}:{}: {}", deck_.name, line_, problem), std::move(hint));
  }

  void require_text(std::string_view line) const {
    const auto control = std::ranges::find_if(line, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && byte != '\t') || byte == 0x7f;
    });
    if (control != line.end()) {
      fail(fmt::format("found byte 0x{:02x}: expected a text file", static_cast<unsigned char>(*control)));
    }
  }

  void take_header(std::string_view content) {
    const std::string_view name =
        content.back() == ']' ? util::trim(content.substr(1, content.size() - 2)) : std::string_view();
    if (name.empty()) fail(fmt::format("found {}: expected [section]", shown(content)));
    section_ = name;
    if (std::ranges::find(sections_, section_) == sections_.end()) {
      const std::string hint = nearest_hint(section_, sections_);
      fail(fmt::format("unknown section [{}]", shown(name)),
           hint.empty() ? "sections are " + util::join(sections_, ", ") : hint);
    }
  }

  void take_entry(std::string_view content) {
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos) fail(fmt::format("found {}: expected key = value", shown(content)));
    const std::string_view name = util::trim(content.substr(0, equals));
    if (name.empty()) fail(fmt::format("found {}: expected a key before '='", shown(content)));
    if (section_.empty()) {
      fail(fmt::format("key {} stands before any [section]", shown(name)),
           did_you_mean(table_.similar_keys(name)));
    }
    std::string key = fmt::format("{}.{}", section_, name);
    if (table_.find(key) == nullptr) {
      fail(fmt::format("unknown key {}", shown(key)), did_you_mean(table_.similar_keys(key)));
    }
    const auto [first, is_new] = first_lines_.emplace(key, line_);
    if (!is_new) fail(fmt::format("repeated key {}: it is set in line {} already", key, first->second));
    deck_.entries.push_back({std::move(key), std::string(util::trim(content.substr(equals + 1))), line_});
  }

  Config defaults_;
  OptionTable table_;
  std::vector<std::string> sections_;
  std::map<std::string, int> first_lines_;
  Deck deck_;
  std::string section_;
  int line_ = 0;
};

}  // namespace

Deck parse_deck(const std::string& text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view rest = text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  DeckParser parser(name);
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    parser.take(line);
  }
  return parser.finish();
}

}  // namespace kolo::config
