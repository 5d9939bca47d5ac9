#include "kolo/util/memory_policy.hpp"

#include <malloc.h>

#include <cstdlib>
#include <limits>

namespace kolo::util {

void set_memory_policy() {
#ifdef __GLIBC__
  // The largest value that the parameters, ints, can take.
  constexpr int kNever = std::numeric_limits<int>::max();
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) mallopt(M_MMAP_THRESHOLD, kNever);
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") == nullptr) mallopt(M_TRIM_THRESHOLD, kNever);
#endif
}

}  // namespace kolo::util
