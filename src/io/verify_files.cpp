// How verify_run() touches files: read-only, and never waiting for anybody.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "kolo/config/wording.hpp"
#include "kolo/io/descriptor.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"
#include "verify_parts.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

/// A million epochs take less; a sparse file of terabytes must not be taken into memory.
constexpr std::int64_t kLargestText = std::int64_t{1} << 30;

/// Opening a pipe without a writer would block but for O_NONBLOCK.
Descriptor open_regular(const fs::path& path, struct stat& status) {
  Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!file || ::fstat(file.get(), &status) != 0)
    throw CheckpointError(fmt::format("cannot be read: {}", error_text(errno)));
  if (!S_ISREG(status.st_mode)) throw CheckpointError("is not a regular file");
  return file;
}

std::string as_text(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

/// "process 123 on node7", as LockFile wrote it.
std::string holder_of(int fd) {
  std::array<std::byte, 512> bytes{};
  const Transfer transfer = read_all(fd, bytes);
  const std::string text = as_text(std::span(bytes).first(transfer.done));
  const auto parts = util::split(util::trim(text), ' ');
  if (parts.size() != 2) return "another process";
  return fmt::format("process {} on {}", config::shown(parts[0]), config::shown(parts[1]));
}

}  // namespace

LockProbe probe_lock(const fs::path& lock) {
  if (!has_entry(lock)) return {};
  try {
    struct stat status {};
    const Descriptor file = open_regular(lock, status);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_OFD_GETLK, &whole) != 0) return {{}, "cannot be tested: " + error_text(errno)};
    if (whole.l_type == F_UNLCK) return {};
    return {holder_of(file.get()), ""};
  } catch (const CheckpointError& error) {
    return {{}, error.what()};
  }
}

std::string read_text(const fs::path& path) {
  struct stat status {};
  const Descriptor file = open_regular(path, status);
  if (status.st_size > kLargestText)
    throw CheckpointError(fmt::format("has {} bytes; expected at most {}", status.st_size, kLargestText));
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  const Transfer transfer = read_all(file.get(), bytes);
  if (transfer.error != 0)
    throw CheckpointError(fmt::format("cannot be read: {}", error_text(transfer.error)));
  return as_text(std::span(bytes).first(transfer.done));
}

std::string without_path(std::string message, const fs::path& path) {
  const std::string quoted = fmt::format("'{}'", path.string());
  const std::size_t begin = message.find(quoted);
  if (begin == std::string::npos) return message;
  message.erase(begin, quoted.size());
  // Of the blanks on both sides one is left, and none at the start or before a colon.
  if (begin == message.size() || message[begin] != ' ') {
    if (begin > 0 && message[begin - 1] == ' ') message.erase(begin - 1, 1);
  } else {
    message.erase(begin, 1);
  }
  constexpr std::string_view kSaidByState = "is damaged: ";
  if (message.starts_with(kSaidByState)) message.erase(0, kSaidByState.size());
  return message;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed))
    names.push_back(it->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw CheckpointError(fmt::format("cannot be listed: {}", failed.message()));
  std::ranges::sort(names);
  return names;
}

bool has_entry(const fs::path& path) {
  std::error_code unknown;
  const fs::file_type type = fs::symlink_status(path, unknown).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
}

}  // namespace kolo::io
