// Work that may hang, where the one who wants it done has something better to do than to hang with it.
#pragma once

#include <functional>

namespace kolo::util {

/// Starts `work` on a thread of its own and waits for its end, but no longer than `seconds`; true when it has
/// ended.  A thread that hangs is left behind: what `work` refers to must outlive the process.  An exception
/// ends the work like a return.
bool finishes_within(double seconds, std::function<void()> work);

}  // namespace kolo::util
