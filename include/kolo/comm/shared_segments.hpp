// The shared memory of this node, and what dead runs left in it.
//
// Open MPI keeps files in /dev/shm that a killed job cannot remove (vader_segment.*, sm_segment.*, osc_*);
// they hold memory until the node restarts.  A file counts as left over when it has such a name, belongs to
// this user, and no process maps it: a live job's creator always does.
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
};

/// `folder` only differs in tests.  Throws CommError when it cannot be looked at.
SharedMemory look_at_shared_memory(const std::filesystem::path& folder = "/dev/shm");

}  // namespace kolo::comm
