#include "kolo/io/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "kolo/util/fault_point.hpp"

namespace kolo::io {
namespace {

bool fails_on_purpose(const char* call) {
  const int error = util::fault_point(call);
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::close() {
  const int fd = release();
  if (fd < 0) return 0;
  const bool fails = fails_on_purpose("close");
  if (::close(fd) == 0) return fails ? errno : 0;
  // On Linux the descriptor is gone even when close was interrupted; a second close could hit somebody
  // else's.
  return errno == EINTR ? 0 : errno;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

Descriptor open_descriptor(const std::filesystem::path& path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && fails_on_purpose("create")) return {};
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

Transfer write_all(int fd, std::span<const std::byte> bytes) {
  Transfer result;
  while (result.done < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(result.done);
    const ssize_t count = fails_on_purpose("write") ? -1 : ::write(fd, rest.data(), rest.size());
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
  while (fails_on_purpose("fsync") || ::fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

void start_writing(int fd, std::size_t offset, std::size_t bytes) {
  ::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(bytes), SYNC_FILE_RANGE_WRITE);
}

int rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  return fails_on_purpose("rename") || ::rename(from.c_str(), to.c_str()) != 0 ? errno : 0;
}

int make_symlink(const std::filesystem::path& target, const std::filesystem::path& link) {
  return fails_on_purpose("symlink") || ::symlink(target.c_str(), link.c_str()) != 0 ? errno : 0;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace kolo::io
