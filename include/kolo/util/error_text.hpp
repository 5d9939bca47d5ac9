// An exception in words.
#pragma once

#include <exception>
#include <string>

#include "kolo/util/error.hpp"

namespace kolo::util {

struct ErrorText {
  ExitCode code = ExitCode::internal;
  std::string message;  ///< one line
  std::string hint;
};

/// What a kolo::Error says; for others the first line of what() and code 1, memory that ran out by name.
ErrorText describe(const std::exception_ptr& error);

}  // namespace kolo::util
