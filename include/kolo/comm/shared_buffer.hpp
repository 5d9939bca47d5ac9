// One block of memory per node, an MPI-3 shared window that every rank of the node maps.
//
// Before the window is made the ranks of the node agree that /dev/shm has room for it: MPI gives rank 0 an
// error and lets the others hang otherwise.  The destructor never calls MPI (see Communicator); `close()` is
// collective and must come before MPI_Finalize, after the last use of the memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "kolo/comm/communicator.hpp"

namespace kolo::comm {

class SharedBuffer {
 public:
  SharedBuffer() = default;
  /// `bytes` zeroed bytes, 64-byte aligned, owned by the node.  Collective over `node`, same `bytes` on every
  /// rank. Throws CommError on all ranks of the node when shared memory is too small.
  static SharedBuffer allocate(const Communicator& node, std::size_t bytes);
  SharedBuffer(SharedBuffer&& other) noexcept;
  SharedBuffer& operator=(SharedBuffer&& other) noexcept;
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;
  ~SharedBuffer() = default;

  static constexpr const char* kRoomHint =
      "enlarge /dev/shm (mount -o remount,size=...; --shm-size in containers) or remove what dead runs left "
      "there";

  std::span<std::byte> bytes() const { return bytes_; }
  /// What keeps this node from allocating `bytes`, as a message; nothing when there is room.
  static std::optional<std::string> lacks_room_for(std::size_t bytes);
  /// Makes stores of each rank before it visible to all ranks of the node after it.  Collective.
  void fence(const Communicator& node) const;
  /// The memory barrier alone, for use beside a call that synchronises the ranks.
  void sync() const;
  void close();

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> bytes_;
};

}  // namespace kolo::comm
