// The parts that error messages about decks and command lines share.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kolo::config {

/// `text` with control characters replaced by '?'.
std::string printable(std::string_view text);

/// What a user typed, for a message: printable and shortened to 60 bytes.
std::string shown(std::string_view typed);

/// "did you mean a, b or c?", or nothing without suggestions.
std::string did_you_mean(std::span<const std::string> suggestions);

/// did_you_mean() for the candidate nearest to `name`, or nothing when none is near.
std::string nearest_hint(std::string_view name, std::span<const std::string> candidates);

}  // namespace kolo::config
