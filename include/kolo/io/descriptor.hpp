// Owned file descriptors and transfers that finish.
//
// read(2) and write(2) may move fewer bytes than asked or be interrupted by a signal (kolo uses USR1, USR2
// and TERM); checking that in one place is what lets everything above say "all of it, or this errno". Nothing
// here throws: callers know the path and the purpose, and word the error.  Each call that changes the disk is
// a place where tests let it fail (util/fault_point.hpp).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace kolo::io {

/// Owns one descriptor; closed on destruction.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// The errno of close(2), 0 when it went well or nothing was open.
  int close();
  int release();

 private:
  int fd_ = -1;
};

/// open(2) with O_CLOEXEC, retried when interrupted.  On failure the result is empty and errno says why.
Descriptor open_descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0666);

/// What a transfer came to: `done` bytes moved, then `error` (an errno; 0: none).
struct Transfer {
  std::size_t done = 0;
  int error = 0;
};

/// Writes all bytes, or as many as there was room for.
Transfer write_all(int fd, std::span<const std::byte> bytes);
/// Reads until `bytes` is full or the file ends (done < size, error 0).
Transfer read_all(int fd, std::span<std::byte> bytes);

/// fsync(2), retried when interrupted; returns errno or 0.
int sync_descriptor(int fd);
/// Lets the kernel begin to write [offset, offset + bytes) to disk, so that a later fsync has less to wait
/// for.  A hint: where it is not supported nothing happens.
void start_writing(int fd, std::size_t offset, std::size_t bytes);
/// rename(2) and symlink(2); return errno or 0.
int rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
int make_symlink(const std::filesystem::path& target, const std::filesystem::path& link);

/// The system's words for an errno, e.g. "No space left on device".
std::string error_text(int error);

}  // namespace kolo::io
