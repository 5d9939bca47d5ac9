#include "kolo/comm/node_board.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "kolo/comm/agree.hpp"

namespace kolo::comm {
namespace {

std::int64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::int64_t>(status.st_ino) : 0;
}

}  // namespace

struct alignas(64) NodeBoard::Header {
  std::atomic<int> error_claimed;
};

NodeBoard NodeBoard::make(const Communicator& world, const Communicator& node) {
  const auto ranks = static_cast<std::size_t>(node.size());
  NodeBoard board;
  // Agreed over the world: a node without room must not leave the others waiting.
  board.memory_ =
      agree(world, [&] { return SharedBuffer::allocate(node, sizeof(Header) + ranks * sizeof(PulseSlot)); });
  board.size_ = node.size();
  PulseSlot& own = board.slot(node.rank());
  own.pid = getpid();
  own.pid_namespace = pid_namespace();
  board.memory_.fence(node);
  return board;
}

PulseSlot& NodeBoard::slot(int node_rank) const {
  // The memory is zeroed, which is how these atomics begin.
  std::byte* first = memory_.bytes().data() + sizeof(Header);
  return reinterpret_cast<PulseSlot*>(first)[node_rank];
}

bool NodeBoard::claim_error_line() const {
  if (memory_.bytes().empty()) return true;
  return reinterpret_cast<Header*>(memory_.bytes().data())->error_claimed.exchange(1) == 0;
}

}  // namespace kolo::comm
