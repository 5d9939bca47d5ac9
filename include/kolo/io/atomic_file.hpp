// Files and links that are replaced whole or not at all.
//
// A run may be killed at any instant, and a disk may fill up.  So nothing important is written in place: the
// bytes go to a temporary file in the same directory, are forced to disk, and take the final name by
// rename(2); then the directory is forced to disk as well.  Invariant: whatever happens, the final name holds
// the old content or the new one, and a file that was not committed leaves nothing behind (a killed process
// leaves its temporary file, which `is_stale_temporary` recognises).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "kolo/io/descriptor.hpp"

namespace kolo::io {

class AtomicFile {
 public:
  /// Creates the temporary file beside `path`, whose directory must exist.  Throws CheckpointError.
  explicit AtomicFile(std::filesystem::path path);
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends to the temporary file.  Throws CheckpointError, which says so when the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// The same for many bytes: in pieces that begin their way to the disk at once.  `before` sees each piece
  /// when it is next, so that a checksum finds it where write(2) will: in the cache.
  void write_large(std::span<const std::byte> bytes,
                   const std::function<void(std::span<const std::byte>)>& before = {});
  /// Replaces the first bytes of what was written.  Nothing may be appended afterwards.
  void overwrite_start(std::span<const std::byte> bytes);
  /// Forces the bytes to disk and gives them their final name.  Throws CheckpointError.  Call once, last.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Descriptor file_;
  std::size_t written_ = 0;
  bool committed_ = false;
};

/// write + commit in one go.
void write_atomically(const std::filesystem::path& path, std::string_view text);

/// Makes or replaces the symbolic link `link`; what is stored is the path of `target` relative to the link's
/// directory, so that the directory may be moved.  Throws CheckpointError.
void atomic_symlink(const std::filesystem::path& target, const std::filesystem::path& link);

/// Whether `name` is that of a temporary file left by another process.  Only the holder of a directory's lock
/// may conclude that nobody is writing it.
bool is_stale_temporary(std::string_view name);

/// Throws CheckpointError for a failed write: "<action> '<path>': <errno text>" and, when space ran out, the
/// bytes written, the bytes wanted and those still free.
[[noreturn]] void throw_write_error(std::string_view action, const std::filesystem::path& path, int error,
                                    std::size_t written, std::size_t wanted);

}  // namespace kolo::io
