// Catches the ConfigError of a call, so that a test can look at its message and hint.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kolo/util/error.hpp"

namespace kolo::test {

struct Caught {
  std::string message;  ///< empty when nothing was thrown
  std::string hint;
};

template <class F>
Caught caught(F&& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return {error.what(), error.hint()};
  }
  ADD_FAILURE() << "no ConfigError was thrown";
  return {};
}

}  // namespace kolo::test
