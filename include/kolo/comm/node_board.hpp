// The few bytes of shared memory through which the ranks of a node know of each other outside MPI: what each
// is doing, whether it lives, and who may print the error line.
#pragma once

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/pulse.hpp"
#include "kolo/comm/shared_buffer.hpp"

namespace kolo::comm {

class NodeBoard {
 public:
  NodeBoard() = default;
  /// Throws AgreedError on all ranks of `world` when a node has no shared memory left.  Collective over both.
  static NodeBoard make(const Communicator& world, const Communicator& node);

  int size() const { return size_; }
  /// Of a rank of the node, by its rank there.
  PulseSlot& slot(int node_rank) const;
  /// True for exactly one caller of this node in the whole run: the one that may print the error line.
  bool claim_error_line() const;
  /// Collective over the node.
  void close() { memory_.close(); }

 private:
  struct Header;
  SharedBuffer memory_;  // a header, then a slot for each rank
  int size_ = 0;
};

}  // namespace kolo::comm
