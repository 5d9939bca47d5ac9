#include "kolo/config/wording.hpp"

#include "kolo/util/strings.hpp"

namespace kolo::config {

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return clean;
}

std::string shown(std::string_view typed) {
  constexpr std::size_t kLongest = 60;
  std::string text = printable(typed.substr(0, kLongest));
  if (typed.size() <= kLongest) return text;
  // Not in the middle of a UTF-8 character.
  while (!text.empty() && (static_cast<unsigned char>(typed[text.size()]) & 0xc0) == 0x80)
    text.pop_back();
  return text + "...";
}

std::string did_you_mean(std::span<const std::string> suggestions) {
  if (suggestions.empty()) return {};
  const std::string& last = suggestions.back();
  if (suggestions.size() == 1) return "did you mean " + last + "?";
  return "did you mean " + util::join(suggestions.first(suggestions.size() - 1), ", ") + " or " + last + "?";
}

std::string nearest_hint(std::string_view name, std::span<const std::string> candidates) {
  const auto near = util::nearest(name, candidates);
  if (!near) return {};
  return did_you_mean(std::span(&*near, 1));
}

}  // namespace kolo::config
