// At most one live process works in a run directory.
//
// The lock is an open-file-description lock (fcntl F_OFD_SETLK) on a file that is never removed: the kernel
// frees it when the process ends, however it ends, so a dead run leaves nothing to clean up.  The file's
// text, "<pid> <host>", only serves the message to whoever comes second.  Invariant: while a LockFile exists,
// no other process has one for the same path, on any machine whose file system forwards locks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kolo/io/descriptor.hpp"

namespace kolo::io {

class LockFile {
 public:
  /// Throws CommError naming pid and host if a live process holds the lock, ConfigError if `path` cannot be
  /// opened, CheckpointError if the disk is full.  Where the file system knows no locks, warns and goes on
  /// without.
  explicit LockFile(const std::filesystem::path& path);

 private:
  Descriptor file_;
};

/// Whether another process works in a directory.
struct LockProbe {
  std::optional<std::string> holder;  ///< of a held lock: "process 123 on node7"
  std::string unknown;                ///< why it cannot be told; else empty
};

/// Finds out without taking the lock, and without waiting.  Where there is no such file, nobody holds it.
LockProbe probe_lock(const std::filesystem::path& path);

}  // namespace kolo::io
