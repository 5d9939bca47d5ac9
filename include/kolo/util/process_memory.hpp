// How much memory a process takes, shared pages counted once among those who share them.
#pragma once

#include <optional>

namespace kolo::util {

/// Bytes; a page that k processes map counts as 1/k of a page for each (PSS), so sums over processes are
/// true.
struct ProcessMemory {
  double total = 0;
  double shared_memory = 0;  ///< of it in /dev/shm and other shared mappings
};

/// This process's, from /proc/self/smaps_rollup; nothing where the kernel does not say.
std::optional<ProcessMemory> process_memory();

}  // namespace kolo::util
