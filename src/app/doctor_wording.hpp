// Words that several parts of `kolo doctor` use.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kolo/util/strings.hpp"

namespace kolo::app {

/// "1 process", "2 processes"
inline std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "1 core", "2 cores"
inline std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

inline std::string bytes(std::int64_t count) { return util::format_bytes(static_cast<double>(count)); }

/// "0-3, 7" for ascending numbers
inline std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

}  // namespace kolo::app
