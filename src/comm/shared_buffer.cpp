#include "kolo/comm/shared_buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "kolo/comm/agree.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::comm {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr const char* kSharedMemory = "/dev/shm";

// MPI keeps its own segments there too; leave it some room.
constexpr double kReserve = 4.0 * 1024 * 1024;

void require_room(std::size_t bytes) {
  const std::optional<std::string> lack = SharedBuffer::lacks_room_for(bytes);
  if (!lack) return;
  throw CommError(*lack, SharedBuffer::kRoomHint);
}

// A rank that cannot map a segment dies inside MPI.
void require_address_space(std::size_t bytes) {
  void* trial = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (trial == MAP_FAILED) {
    throw CommError(fmt::format("cannot map {} of shared memory: {}",
                                util::format_bytes(static_cast<double>(bytes)), std::strerror(errno)),
                    "raise the limit on address space (ulimit -v)");
  }
  munmap(trial, bytes);
}

std::byte* aligned(std::byte* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return pointer + (kAlignment - address % kAlignment) % kAlignment;
}

}  // namespace

SharedBuffer SharedBuffer::allocate(const Communicator& node, std::size_t bytes) {
  SharedBuffer buffer;
  const bool owner = node.rank() == 0;
  agree(node, [&] {
    if (owner) require_room(bytes);
    require_address_space(bytes + kAlignment);
  });
  // The window's base is only 8-byte aligned, so it gets room to align within.
  void* base = nullptr;
  const auto size = static_cast<MPI_Aint>(owner ? bytes + kAlignment : 0);
  KOLO_MPI(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node.handle(), &base, &buffer.window_));
  MPI_Aint owner_size = 0;
  int unit = 0;
  KOLO_MPI(MPI_Win_shared_query(buffer.window_, 0, &owner_size, &unit, &base));
  KOLO_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, buffer.window_));
  // Ranks map the segment at different addresses, but at the same offset within a page.
  buffer.bytes_ = {aligned(static_cast<std::byte*>(base)), bytes};
  // Pages of a new segment are zero, and best mapped by the rank that will use them; a rank alone gets plain
  // memory.
  if (node.size() == 1) std::memset(buffer.bytes_.data(), 0, bytes);
  buffer.fence(node);
  return buffer;
}

SharedBuffer::SharedBuffer(SharedBuffer&& other) noexcept
    : window_(std::exchange(other.window_, MPI_WIN_NULL)), bytes_(std::exchange(other.bytes_, {})) {}

SharedBuffer& SharedBuffer::operator=(SharedBuffer&& other) noexcept {
  std::swap(window_, other.window_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::optional<std::string> SharedBuffer::lacks_room_for(std::size_t bytes) {
  struct statvfs fs {};
  if (statvfs(kSharedMemory, &fs) != 0) {
    return fmt::format("cannot look at {}: {}", kSharedMemory, std::strerror(errno));
  }
  const double free = static_cast<double>(fs.f_bavail) * static_cast<double>(fs.f_frsize);
  const double needed = static_cast<double>(bytes) + kReserve;
  if (needed <= free) return std::nullopt;
  return fmt::format("too little shared memory: {} in {} free, {} needed", util::format_bytes(free),
                     kSharedMemory, util::format_bytes(needed));
}

void SharedBuffer::fence(const Communicator& node) const {
  sync();
  node.barrier();
  sync();
}

void SharedBuffer::sync() const { KOLO_MPI(MPI_Win_sync(window_)); }

void SharedBuffer::close() {
  if (window_ == MPI_WIN_NULL) return;
  bytes_ = {};
  KOLO_MPI(MPI_Win_unlock_all(window_));
  KOLO_MPI(MPI_Win_free(&window_));
}

}  // namespace kolo::comm
