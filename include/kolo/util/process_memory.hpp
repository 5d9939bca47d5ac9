// How much memory a process takes, shared pages counted once among those who share them.
#pragma once

#include <cstdint>
#include <optional>

namespace kolo::util {

/// Bytes; a page that k processes map counts as 1/k of a page for each (PSS), so sums over processes are
/// true.
struct ProcessMemory {
  double total = 0;
  double shared_memory = 0;  ///< of it in /dev/shm and other shared mappings
  double files = 0;          ///< of it pages of files: programs and libraries, whoever else maps them
};

/// This process's, from /proc/self/smaps_rollup; nothing where the kernel does not say.
std::optional<ProcessMemory> process_memory();

/// Processes of this machine that the kernel has ended because memory ran out, since it was started; nothing
/// where it does not say.
std::optional<std::int64_t> out_of_memory_kills();

}  // namespace kolo::util
