#include "kolo/config/option_binder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/util/strings.hpp"

namespace kolo::config {
namespace {

// "0.1, 0.2" -> {"0.1", "0.2"}; nothing -> {}.
std::vector<std::string> list_tokens(const std::string& text) {
  if (util::trim(text).empty()) return {};
  std::vector<std::string> tokens = util::split(text, ',');
  for (std::string& token : tokens)
    token = util::trim(token);
  return tokens;
}

// Whether a deck line can carry the text unchanged.
bool fits_deck_line(std::string_view text) {
  if (util::trim(text) != text || text.starts_with('#')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
    if (text[i] == '#' && (text[i - 1] == ' ' || text[i - 1] == '\t')) return false;
  }
  return true;
}

}  // namespace

Option& OptionBinder::add(std::string_view name, std::string_view help, std::string expected) {
  return options_.emplace_back(Option{.section = section_,
                                      .name = std::string(name),
                                      .help = std::string(help),
                                      .expected = std::move(expected),
                                      .default_value = {},
                                      .assign = {},
                                      .print = {}});
}

template <class T, class Range>
void OptionBinder::bind_number(std::string_view name, T& member, Range range, std::string_view noun,
                               std::string_view help) {
  Option& option = add(name, help, range.text(noun));
  option.assign = [&member, range](const std::string& text) {
    const auto value = parse_value<T>({text});
    if (!value || !range.contains(*value)) return false;
    member = *value;
    return true;
  };
  option.print = [&member] { return fmt::format("{}", member); };
}

template <class T, class Range>
void OptionBinder::bind_list(std::string_view name, std::vector<T>& member, Range range,
                             std::string_view nouns, std::string_view help) {
  Option& option = add(name, help, range.text(nouns) + ", separated by commas, or nothing");
  option.assign = [&member, range](const std::string& text) {
    auto values = parse_value<std::vector<T>>(list_tokens(text));
    if (!values || !std::ranges::all_of(*values, [&](T value) { return range.contains(value); }))
      return false;
    member = std::move(*values);
    return true;
  };
  option.print = [&member] { return fmt::format("{}", fmt::join(member, ", ")); };
}

void OptionBinder::operator()(std::string_view name, std::int64_t& member, IntegerRange range,
                              std::string_view help) {
  bind_number(name, member, range, "an integer", help);
}

void OptionBinder::operator()(std::string_view name, double& member, RealRange range, std::string_view help) {
  bind_number(name, member, range, "a number", help);
}

void OptionBinder::operator()(std::string_view name, std::vector<std::int64_t>& member, IntegerRange range,
                              std::string_view help) {
  bind_list(name, member, range, "integers", help);
}

void OptionBinder::operator()(std::string_view name, std::vector<double>& member, RealRange range,
                              std::string_view help) {
  bind_list(name, member, range, "numbers", help);
}

void OptionBinder::operator()(std::string_view name, bool& member, std::string_view help) {
  Option& option = add(name, help, "one of true, false, yes, no, on, off, 1, 0");
  option.assign = [&member](const std::string& text) {
    const auto value = parse_value<bool>({text});
    if (value) member = *value;
    return value.has_value();
  };
  option.print = [&member] { return std::string(member ? "true" : "false"); };
}

void OptionBinder::operator()(std::string_view name, std::string& member, Emptiness emptiness,
                              std::string_view help) {
  const std::string_view kind = emptiness == Emptiness::allowed ? "text, or nothing," : "text";
  Option& option = add(name, help, fmt::format("{} without control characters or ' #'", kind));
  option.assign = [&member, emptiness](const std::string& text) {
    if ((text.empty() && emptiness == Emptiness::refused) || !fits_deck_line(text)) return false;
    member = text;
    return true;
  };
  option.print = [&member] { return member; };
}

}  // namespace kolo::config
