#include "kolo/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <string>

#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".tmp-";
constexpr int kAttempts = 100;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

/// Sixteen digits that another process, even one with the same pid in another container, does not have.
std::string process_token() {
  static std::mutex mutex;
  static pid_t owner = 0;
  static std::string token;
  const std::scoped_lock lock(mutex);
  if (owner != ::getpid()) {  // the first call, or the first after a fork
    owner = ::getpid();
    token = util::to_hex(util::digest(
        fmt::format("{} {}", owner, std::chrono::system_clock::now().time_since_epoch().count())));
  }
  return token;
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  return directory_of(path) /
         fmt::format(".{}{}{}-{}", path.filename().string(), kMark, process_token(), counter++);
}

[[noreturn]] void throw_error(std::string_view action, const fs::path& path, int error) {
  throw CheckpointError(fmt::format("{} '{}': {}", action, path.string(), error_text(error)),
                        "check that the directory exists, may be written and is on a healthy file system");
}

void rename_over(const fs::path& from, const fs::path& to) {
  if (const int error = rename_file(from, to); error != 0) {
    ::unlink(from.c_str());
    throw_error("cannot rename the temporary file to", to, error);
  }
}

void sync_directory(const fs::path& path) {
  const Descriptor directory = open_descriptor(directory_of(path), O_RDONLY | O_DIRECTORY);
  const int error = directory ? sync_descriptor(directory.get()) : errno;
  // Some network and FUSE file systems do not offer fsync on directories.
  if (error != 0 && error != EINVAL && error != ENOTSUP)
    throw_error("cannot force to disk the directory of", path, error);
}

}  // namespace

void throw_write_error(std::string_view action, const fs::path& path, int error, std::size_t written,
                       std::size_t wanted) {
  std::string message = fmt::format("{} '{}': {}", action, path.string(), error_text(error));
  std::string hint;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    struct statvfs space {};
    std::string free = "unknown";
    if (::statvfs(directory_of(path).c_str(), &space) == 0)
      free = util::format_bytes(static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize));
    message += fmt::format(" ({} of {} written, {} free on its file system)",
                           util::format_bytes(static_cast<double>(written)),
                           util::format_bytes(static_cast<double>(wanted)), free);
    hint = error == EFBIG
               ? "files may not be larger here: see ulimit -f, or the limits of the file system"
               : "the disk is full or a quota is reached: free some space, or keep fewer checkpoints";
  }
  throw CheckpointError(message, hint);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  for (int attempt = 0; attempt < kAttempts && !file_; ++attempt) {
    temporary_ = temporary_beside(path_);
    file_ = open_descriptor(temporary_, O_WRONLY | O_CREAT | O_EXCL);
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) throw_error("cannot create a temporary file beside", path_, errno);
}

AtomicFile::~AtomicFile() {
  file_.close();
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const Transfer transfer = write_all(file_.get(), bytes);
  const std::size_t wanted = written_ + bytes.size();
  written_ += transfer.done;
  if (transfer.error != 0) throw_write_error("cannot write", path_, transfer.error, written_, wanted);
}

void AtomicFile::write_large(std::span<const std::byte> bytes,
                             const std::function<void(std::span<const std::byte>)>& before) {
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(kPieceBytes, bytes.size()));
    if (before) before(piece);
    const std::size_t offset = written_;
    write(piece);
    start_writing(file_.get(), offset, piece.size());
    bytes = bytes.subspan(piece.size());
  }
}

void AtomicFile::overwrite_start(std::span<const std::byte> bytes) {
  if (::lseek(file_.get(), 0, SEEK_SET) != 0)
    throw_write_error("cannot write", path_, errno, written_, written_);
  const Transfer transfer = write_all(file_.get(), bytes);
  if (transfer.error != 0) throw_write_error("cannot write", path_, transfer.error, written_, written_);
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::commit() {
  // Delayed allocation and network file systems report a full disk only here.
  if (const int error = sync_descriptor(file_.get()); error != 0)
    throw_write_error("cannot force to disk", path_, error, written_, written_);
  if (const int error = file_.close(); error != 0)
    throw_write_error("cannot close", path_, error, written_, written_);
  rename_over(temporary_, path_);
  committed_ = true;
  sync_directory(path_);
}

void write_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void atomic_symlink(const fs::path& target, const fs::path& link) {
  std::error_code failed;
  const fs::path relative = fs::relative(target, directory_of(link), failed);
  if (failed) throw_error("cannot resolve the target of the link", link, failed.value());
  const fs::path temporary = temporary_beside(link);
  if (const int error = make_symlink(relative, temporary); error != 0)
    throw_error("cannot make the symbolic link", link, error);
  rename_over(temporary, link);
  sync_directory(link);
}

bool is_stale_temporary(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos || name.front() != '.') return false;
  const std::string own = process_token();
  const std::string_view token = name.substr(mark + kMark.size()).substr(0, own.size());
  const std::string_view rest = name.substr(mark + kMark.size()).substr(token.size());
  const bool ours = token.size() == own.size() && rest.size() > 1 && rest.front() == '-' &&
                    token.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
                    rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return ours && token != own;
}

}  // namespace kolo::io
