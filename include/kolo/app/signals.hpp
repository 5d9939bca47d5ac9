// Signals that ask a run to stop.  A handler only sets a flag; the training loop looks at it once a step.
#pragma once

#include "kolo/train/stop.hpp"

namespace kolo::app {

/// USR1, USR2, TERM and INT.  A second TERM or INT ends the process at once.
void install_signal_handlers();
/// Back to what ends a process.
void restore_signal_handlers();
/// The signals this process got so far.
train::StopFlags received_signals();

}  // namespace kolo::app
