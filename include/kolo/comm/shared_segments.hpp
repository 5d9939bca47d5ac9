// The shared memory of this node, and what dead runs left in it.
//
// Open MPI keeps files in /dev/shm that a killed job cannot remove (vader_segment.*, sm_segment.*, osc_*);
// they hold memory until the node restarts.  A file counts as left over when it has such a name, belongs to
// this user, was not written to for a minute, and no process maps it: a live job's creator always does. Where
// a process of this user does not show what it maps, nothing counts as left over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kolo::comm {

struct LeftOver {
  std::string path;
  std::int64_t bytes = 0;
};

struct SharedMemory {
  std::int64_t bytes = 0;
  std::int64_t free_bytes = 0;
  std::vector<LeftOver> left_over;  ///< by path
  int hidden_processes = 0;         ///< of this user, where they kept files from being judged
};

/// The folders only differ in tests.  Throws CommError when `folder` cannot be looked at.
SharedMemory look_at_shared_memory(const std::filesystem::path& folder = "/dev/shm",
                                   const std::filesystem::path& processes = "/proc");

}  // namespace kolo::comm
