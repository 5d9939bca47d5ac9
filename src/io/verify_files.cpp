// How verify_run() touches files: read-only, and never waiting for anybody.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "kolo/io/descriptor.hpp"
#include "kolo/util/error.hpp"
#include "verify_parts.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

/// A million epochs take less; a sparse file of terabytes must not be taken into memory.
constexpr std::int64_t kLargestText = std::int64_t{1} << 30;

std::string as_text(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

}  // namespace

std::string read_text(const fs::path& path) {
  // Opening a pipe without a writer would block but for O_NONBLOCK.
  const Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    throw CheckpointError(fmt::format("cannot be read: {}", error_text(errno)));
  if (!S_ISREG(status.st_mode)) throw CheckpointError("is not a regular file");
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
