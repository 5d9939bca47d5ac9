// Which cores a rank computes on.
//
// Plain `mpirun -n 2` binds each rank to a single core, so on 16 cores 14 idle.  With comm.bind = auto the
// cores this node's job may use are divided anew into disjoint, contiguous sets, one per rank, unless the
// user bound the ranks on purpose (mpirun --bind-to, srun): what was asked for is never overridden.
#pragma once

#include <string>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"

namespace kolo::comm {

struct CpuBinding {
  std::vector<int>
      cores;         ///< physical cores of this rank, by the operating system's number of their first thread
  std::string list;  ///< its processing units as "0-7,16"
  int threads = 1;   ///< computing threads for this rank
  std::string reason;  ///< how it came about, e.g. "auto: 16 cores over 2 ranks"
};

/// Binds the calling thread (threads started later inherit it).  Must come before libtorch starts its thread
/// pool. `threads` > 0 overrides the thread count.  Collective over `node`.
CpuBinding bind_cpus(const Communicator& node, config::Bind bind, int threads);

/// Physical cores as seen by a process that no launcher has bound.
struct UsableCores {
  int mine = 0;     ///< within this process's own affinity
  int threads = 0;  ///< hardware threads of those within it
  int of_job = 0;   ///< what comm.bind = auto divides among a node's ranks
};
/// Throws CommError when hwloc cannot read the topology.
UsableCores count_usable_cores();

/// Splits `count` items into `parts` contiguous ranges whose sizes differ by at most one; with fewer items
/// than parts the ranges wrap around and share.  Returns [first, last) of `part`.
std::pair<int, int> contiguous_part(int count, int parts, int part);

}  // namespace kolo::comm
