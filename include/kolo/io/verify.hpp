// Whether the files of a run directory are whole and fit together.
//
// The directory is only read: nothing in it is created, locked, repaired or removed, and no name in it can
// make the check wait (pipes, devices).  A live or killed run is not a damaged one: files are written one
// after another, so some may be one write ahead of others, and that is a note.  Invariant: what is called
// damaged here was not left so by any instant at which kolo may be killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kolo::io {

enum class FileState { ok, note, damaged };

/// "ok", "note" or "damaged".
std::string name_of(FileState state);

struct FileVerdict {
  std::string name;  ///< relative to the run directory; any bytes the file system allows
  FileState state = FileState::ok;
  std::string what;  ///< what is wrong or worth knowing; may be empty
};

/// The checkpoint that a resume would begin with.
struct ResumePoint {
  std::string name;  ///< relative to the run directory
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> epoch;  ///< epochs completed
};

struct RunVerdict {
  std::vector<FileVerdict> files;
  std::optional<ResumePoint> resume;  ///< nothing if no checkpoint is whole
  std::size_t checkpoints = 0;        ///< files named like one, whole or not
  std::optional<std::string> holder;  ///< the live run that uses the directory, e.g. "process 12 on node7"

  std::size_t damaged() const;
};

/// Reads every checkpoint once, one at a time.  Throws ConfigError if `directory` is not a run directory:
/// neither config.ini nor checkpoints/ in it.
RunVerdict verify_run(const std::filesystem::path& directory);

}  // namespace kolo::io
