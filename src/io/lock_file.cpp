#include "kolo/io/lock_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "kolo/config/wording.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown-host";
  return name.data();
}

/// "process 123 on node7", from the text of the lock file.
std::string holder(int fd) {
  std::array<std::byte, 512> bytes{};
  ::lseek(fd, 0, SEEK_SET);
  const Transfer transfer = read_all(fd, bytes);
  std::string text(transfer.done, '\0');
  std::memcpy(text.data(), bytes.data(), transfer.done);
  const auto parts = util::split(util::trim(text), ' ');
  if (parts.size() != 2) return "another process";
  return fmt::format("process {} on {}", config::shown(parts[0]), config::shown(parts[1]));
}

/// The whole file, however long it is.
struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

/// 0, or the errno.
int try_lock(int fd) {
  struct flock whole = whole_file();
  while (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

LockFile::LockFile(const std::filesystem::path& path) : file_(open_descriptor(path, O_RDWR | O_CREAT)) {
  const std::string directory = path.parent_path().string();
  if (!file_)
    throw ConfigError(fmt::format("run directory '{}' cannot be written: {}", directory, error_text(errno)),
                      "give a directory you may write with --run-dir");
  const int error = try_lock(file_.get());
  if (error == EAGAIN || error == EACCES)
    throw CommError(fmt::format("run directory '{}' is in use by {}", directory, holder(file_.get())),
                    "wait for that run or stop it, or give another --run-dir");
  if (error != 0)
    util::log_warning(
        fmt::format("run directory '{}' cannot be locked ({}): take care that no other run uses it",
                    directory, error_text(error)));
  const std::string text = fmt::format("{} {}\n", ::getpid(), host_name());
  if (::ftruncate(file_.get(), 0) != 0) throw_write_error("cannot write", path, errno, 0, text.size());
  const Transfer transfer = write_all(file_.get(), std::as_bytes(std::span(text.data(), text.size())));
  if (transfer.error != 0)
    throw_write_error("cannot write", path, transfer.error, transfer.done, text.size());
}

LockProbe probe_lock(const std::filesystem::path& path) {
  // Opening a pipe without a writer would block but for O_NONBLOCK.
  const Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!file && errno == ENOENT) return {};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {{}, "cannot be read: " + error_text(errno)};
  if (!S_ISREG(status.st_mode)) return {{}, "is not a regular file"};
  struct flock whole = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &whole) != 0) return {{}, "cannot be tested: " + error_text(errno)};
  if (whole.l_type == F_UNLCK) return {};
  return {holder(file.get()), ""};
}

}  // namespace kolo::io
