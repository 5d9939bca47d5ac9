// Signals that ask a run to stop: USR1, USR2, TERM and INT.
//
// A handler, in place before any library is initialised, only sets a flag; the training loop looks at it once
// a step.  A second TERM or INT ends the process at once.
#pragma once

#include "kolo/train/stop.hpp"

namespace kolo::app {

/// Back to what ends a process, for commands that do not ask for the signals; one that came already ends it
/// now.
void restore_signal_handlers();
/// The signals this process got so far.
train::StopFlags received_signals();

}  // namespace kolo::app
