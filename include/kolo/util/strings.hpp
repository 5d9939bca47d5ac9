// Text helpers for messages: sizes, durations, and the known name nearest to a misspelt one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kolo::util {

std::string_view trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// "512 B", "8.5 MiB": binary units, one decimal from KiB on.
std::string format_bytes(double bytes);
/// "2,122,186"
std::string format_count(std::int64_t value);
/// "0.8 s", "42 s", "3:07", "1:02:33"
std::string format_duration(double seconds);

/// The word as a shell reads it: as it is, or in single quotes.
std::string shell_quoted(const std::string& word);

/// The candidate with the smallest edit distance to `name` if it is near enough to be a likely misspelling.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace kolo::util
