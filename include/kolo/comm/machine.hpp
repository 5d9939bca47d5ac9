// The machine this process runs on, as far as training cares.
//
// Cores are physical ones, numbered as in CpuBinding.  `usable_cores` is what the operating system lets this
// job use (cpuset of a batch system or container), not what this rank was bound to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kolo/comm/cgroup.hpp"

namespace kolo::comm {

struct Machine {
  std::string processor;
  int sockets = 0;
  int numa_nodes = 0;
  int cores = 0;
  int threads = 0;  ///< hardware threads
  std::vector<int> usable_cores;
  std::int64_t memory_bytes = 0;
  std::int64_t available_bytes = 0;  ///< free or given back on demand
  CgroupLimits limits;
  int gpus = 0;            ///< NVIDIA devices that the driver shows
  bool has_avx2 = false;   ///< an x86 processor with 256-bit integer vectors
  std::string huge_pages;  ///< "always", "madvise", "never"; empty where there is no such setting
};

/// Throws CommError when hwloc cannot read the topology.
Machine look_at_machine();

}  // namespace kolo::comm
