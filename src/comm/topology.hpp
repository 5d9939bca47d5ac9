// hwloc's picture of this machine, freed with its owner.
#pragma once

#include <hwloc.h>

#include <memory>

#include "kolo/util/error.hpp"

namespace kolo::comm {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// `flags`: of hwloc_topology_set_flags.  Throws CommError.
inline Topology load_topology(unsigned long flags = 0) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw CommError("hwloc cannot make a topology");
  Topology topology(raw);
  hwloc_topology_set_flags(raw, flags);
  if (hwloc_topology_load(raw) != 0) throw CommError("hwloc cannot read this machine's topology");
  return topology;
}

}  // namespace kolo::comm
