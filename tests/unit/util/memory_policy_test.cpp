#include "kolo/util/memory_policy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace kolo::util {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kOwnMalloc = true;
#else
constexpr bool kOwnMalloc = false;
#endif

constexpr std::size_t kBlock = std::size_t{48} << 20;
constexpr long kFewFaults = 12;  // the block has 24 huge pages, where the system gives them to everybody

long page_faults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Page faults of a block that is allocated, written and freed.
long faults_of_a_block() {
  const long before = page_faults();
  void* block = std::malloc(kBlock);
  std::memset(block, 1, kBlock);
  std::free(block);
  return page_faults() - before;
}

std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  return line;
}

// "hg" among the flags of the mapping that holds `address`: huge pages were asked for.
bool asked_for_huge_pages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      inside = begin <= at && at < end;
    }
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

// One test: the policy is the process's, and cannot be taken back.
TEST(MemoryPolicy, RecyclesBlocksAndAsksForHugePagesOnlyWhenTold) {
  if (kOwnMalloc) GTEST_SKIP() << "the sanitizer brings its own malloc";
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") || std::getenv("MALLOC_TRIM_THRESHOLD_"))
    GTEST_SKIP() << "MALLOC_* variables decide here";
  const std::size_t size = std::size_t{8} << 20;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::byte* middle = static_cast<std::byte*>(memory) + size / 2;

  EXPECT_EQ(apply_memory_policy({.recycle = false, .huge_pages = false}),
            "freed blocks as the C library has it, no huge pages asked for");
  faults_of_a_block();
  EXPECT_GT(faults_of_a_block(), kFewFaults);
  advise_huge_pages(memory, size);
  EXPECT_FALSE(asked_for_huge_pages(middle));

  const std::string policy = apply_memory_policy({});
  EXPECT_TRUE(policy.starts_with("freed blocks recycled, ")) << policy;
  faults_of_a_block();
  EXPECT_LT(faults_of_a_block(), kFewFaults);
  advise_huge_pages(memory, size);
  const bool may_ask = huge_page_setting().find("[madvise]") != std::string::npos;
  EXPECT_EQ(asked_for_huge_pages(middle), may_ask);
  EXPECT_EQ(policy.find("huge pages for large tensors and the arena") != std::string::npos, may_ask);
  munmap(memory, size);
}

}  // namespace
}  // namespace kolo::util
