// Signals that ask a run to stop: USR1, USR2, TERM and INT.
//
// A handler, in place before any library is initialised, only sets a flag; the training loop looks at it once
// a step.  A second TERM, or a second INT, ends the process at once.
#pragma once

#include <string>

#include "kolo/comm/node_board.hpp"
#include "kolo/train/stop.hpp"

namespace kolo::app {

/// Back to what ends a process, for commands that do not ask for the signals; one that came already ends it
/// now.
void restore_signal_handlers();
/// The signals this process got so far.
train::StopFlags received_signals();

/// From now on a mapped file that has become shorter, or shared memory that has run out, ends the process
/// with an error line instead of a bare SIGBUS.  Of a node one rank speaks; `who` begins the message. `board`
/// outlives every access to such memory.
void explain_bus_errors(std::string who, const comm::NodeBoard& board);

}  // namespace kolo::app
