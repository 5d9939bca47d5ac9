// A file that lives in memory and has a path, for readers that open files by name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <system_error>

namespace kolo::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes = {}) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    replace(bytes);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Nobody may still map the content before.
  void replace(std::span<const std::byte> bytes) {
    const bool done =
        ::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == std::ssize(bytes);
    if (!done) throw std::system_error(errno, std::generic_category(), "write to memory file");
  }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace kolo::fuzz
