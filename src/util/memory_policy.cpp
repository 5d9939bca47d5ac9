#include "kolo/util/memory_policy.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace kolo::util {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr const char* kHugePageSetting = "/sys/kernel/mm/transparent_hugepage/enabled";

bool ask_for_huge_pages = false;

std::string recycle_blocks() {
#ifdef __GLIBC__
  // The largest value that the parameters, ints, can take; older versions of glibc take 32 MiB at most.
  constexpr int kNever = std::numeric_limits<int>::max();
  constexpr int kMost = 32 << 20;
  for (const char* variable : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}) {
    if (std::getenv(variable) != nullptr) return fmt::format("freed blocks as {} says", variable);
  }
  const bool all = mallopt(M_MMAP_THRESHOLD, kNever) == 1;
  const bool some = all || mallopt(M_MMAP_THRESHOLD, kMost) == 1;
  if (!some || mallopt(M_TRIM_THRESHOLD, kNever) != 1) return "freed blocks as the C library has it";
  return all ? "freed blocks recycled" : "freed blocks of up to 32 MiB recycled";
#else
  return "freed blocks as the C library has it";
#endif
}

std::string turn_on_huge_pages(bool recycled) {
  const std::string setting = huge_page_setting();
  if (setting == "always") return "huge pages everywhere (system setting)";
  if (setting != "madvise") return fmt::format("no huge pages ({}: {})", kHugePageSetting, setting);
  ask_for_huge_pages = true;
  // A huge page that is mapped anew for every use is cleared whole every time: dearer than small pages.
  if (!recycled) return "huge pages for the arena";
  // What libtorch's allocator reads, once, at its first allocation.
  setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
  return "huge pages for large tensors and the arena";
}

}  // namespace

std::string huge_page_setting() {
  std::ifstream file(kHugePageSetting);
  std::string line;
  std::getline(file, line);
  const auto open = line.find('['), close = line.find(']');
  return open == std::string::npos || close == std::string::npos ? ""
                                                                 : line.substr(open + 1, close - open - 1);
}

std::string apply_memory_policy(const MemoryPolicy& policy) {
  return (policy.recycle ? recycle_blocks() : "freed blocks as the C library has it") + ", " +
         (policy.huge_pages ? turn_on_huge_pages(policy.recycle) : "no huge pages asked for");
}

void advise_huge_pages(void* begin, std::size_t bytes) {
  if (!ask_for_huge_pages) return;
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage;
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace kolo::util
