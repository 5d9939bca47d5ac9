// How this process takes memory from the system: recycled blocks and huge pages.
//
// By default glibc maps and unmaps blocks of a few MiB (activations, temporaries) for every use, and each
// time the kernel zeroes their pages: 10 to 30 % of a training step.  Raised thresholds keep them in the
// process instead.  Pages of 2 MiB spare address translations; the system must let a program ask for them.
#pragma once

#include <cstddef>
#include <string>

namespace kolo::util {

struct MemoryPolicy {
  bool recycle = true;     ///< keep freed blocks
  bool huge_pages = true;  ///< ask for huge pages
};

/// Before the first large allocation of the process.  Leaves alone what the user set through MALLOC_* and
/// THP_MEM_ALLOC_ENABLE.  Returns what is in force, for people.
std::string apply_memory_policy(const MemoryPolicy& policy);

/// The system's word on huge pages: "always", "madvise" or "never"; empty where there is no such setting.
std::string huge_page_setting();

/// Asks for huge pages under [begin, begin + bytes), if the policy in force is to ask; never fails.
void advise_huge_pages(void* begin, std::size_t bytes);

}  // namespace kolo::util
