// What fuzz targets demand of a parser: it accepts an input, or throws the error of its kind with one line of
// text.  Everything else leaves the target as an exception or an abort, which libFuzzer and driver.cpp
// report.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kolo/util/error.hpp"

namespace kolo::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// An error is printed as one line, and a terminal acts on control characters.
inline void require_printable(std::string_view message) {
  require(!message.empty(), "an error has a message");
  require(std::ranges::none_of(message,
                               [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }),
          "an error's message has no control characters");
}

/// True when `parse` returned, false when it threw an E.  Other exceptions pass.
template <class E, class F>
bool accepts(F&& parse) {
  try {
    parse();
    return true;
  } catch (const E& error) {
    require_printable(error.what());
    return false;
  }
}

}  // namespace kolo::fuzz
