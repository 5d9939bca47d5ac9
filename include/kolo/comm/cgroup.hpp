// What the control groups this process lives in let it use, of cores and of memory.
//
// A container may be given two cores' worth of time on a machine of 64 (`--cpus 2`), and hwloc still shows
// all 64: threads beyond the quota are stopped for the rest of every period.  Both versions of the interface
// are read; of nested groups the tightest limit counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace kolo::comm {

struct CgroupLimits {
  std::optional<double> cpus;                ///< seconds of computing a second
  std::optional<std::int64_t> memory_bytes;  ///< may exceed what the machine has
};

/// `membership` lists this process's groups, `mount` is where the file system of groups lies; both only
/// differ in tests.  What cannot be read is no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& membership = "/proc/self/cgroup",
                                const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace kolo::comm
