// Other programs, run to their end one at a time, their output kept.
//
// The arguments go to the program as they are: there is no shell in between.  The child gets a process group
// of its own and no standard input, so that what a user types reaches it through this process only: the first
// signal that HeldSignals holds back is passed on to the whole group as TERM; a group that stays, or a second
// signal, brings KILL.  The child has been waited for when run_program() returns.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kolo/util/held_signals.hpp"

namespace kolo::util {

struct ProgramResult {
  std::string output;              ///< standard output and error, in the order they were written
  std::string start_error;         ///< why the program could not be started; empty: it was
  std::optional<int> exit_code;    ///< of a program that ended by itself
  std::optional<int> signal;       ///< that ended it
  std::optional<int> interrupted;  ///< the signal to this process that was passed on
};

/// `argv[0]` is searched in PATH; at least one element.  Blocks until the program has ended and everything
/// that holds its output has closed it.
ProgramResult run_program(std::span<const std::string> argv, const HeldSignals& signals);

}  // namespace kolo::util
