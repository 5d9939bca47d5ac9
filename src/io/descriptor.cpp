#include "kolo/io/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kolo::io {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::close() {
  const int fd = release();
  if (fd < 0 || ::close(fd) == 0) return 0;
  // On Linux the descriptor is gone even when close was interrupted; a second close could hit somebody
  // else's.
  return errno == EINTR ? 0 : errno;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

Descriptor open_descriptor(const std::filesystem::path& path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

Transfer write_all(int fd, std::span<const std::byte> bytes) {
  Transfer result;
  while (result.done < bytes.size()) {
    const ssize_t count = ::write(fd, bytes.data() + result.done, bytes.size() - result.done);
    if (count > 0) {
      result.done += static_cast<std::size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      result.error = count == 0 ? EIO : errno;
      return result;
    }
  }
  return result;
}

Transfer read_all(int fd, std::span<std::byte> bytes) {
  Transfer result;
  while (result.done < bytes.size()) {
    const ssize_t count = ::read(fd, bytes.data() + result.done, bytes.size() - result.done);
    if (count > 0) {
      result.done += static_cast<std::size_t>(count);
    } else if (count == 0) {
      return result;
    } else if (errno != EINTR) {
      result.error = errno;
      return result;
    }
  }
  return result;
}

int sync_descriptor(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace kolo::io
