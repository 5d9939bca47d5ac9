// What this node's memory can do: the limit that an exchange of gradients is measured against.
#pragma once

#include <cstddef>

#include "kolo/comm/communicator.hpp"

namespace kolo::bench {

/// Bytes a second, read plus written, of all ranks of `node` together while each copies `bytes` from one
/// private array to another: the median of `repetitions`, the slowest rank's time in each.  Arrays that fit a
/// cache measure the cache.  The same on every rank of the node.  Collective over `node`.
double copy_bandwidth(const comm::Communicator& node, std::size_t bytes, int repetitions);

}  // namespace kolo::bench
