// glibc's allocator, told to keep what it has.
//
// By default blocks of a few MiB (activations, temporaries) are mapped and unmapped for every use, and each
// time the kernel zeroes their pages: 10 to 30 % of a training step.  Raising the thresholds recycles them
// instead.
#pragma once

namespace kolo::util {

/// Before the first large allocation of the process.  Leaves alone what the user set through MALLOC_*
/// variables.
void set_memory_policy();

}  // namespace kolo::util
