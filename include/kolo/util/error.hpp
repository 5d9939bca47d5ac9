// Errors a user can meet, and the exit code each kind ends the program with.
//
// A message says what is wrong, where (file, line, key), what was found and what was expected; the hint says
// what to do. Libraries throw these; only the run lifecycle prints and exits, so that one line comes from one
// rank.
#pragma once

#include <stdexcept>
#include <string>

namespace kolo {

/// The program's exit codes (`kolo --help` prints them; job scripts rely on them).
enum class ExitCode : int {
  finished = 0,
  internal = 1,    ///< a fault of kolo itself
  usage = 2,       ///< command line or deck
  data = 3,        ///< data set missing, damaged or of the wrong shape
  checkpoint = 4,  ///< checkpoint missing, damaged or not of this run
  comm = 5,        ///< launch or communication
  diverged = 6,    ///< non-finite loss or gradient
  resumable = 75,  ///< stopped early on request; the same command with --resume auto goes on
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  ExitCode code() const { return code_; }
  /// One or more lines of advice without a trailing newline; empty when there is none.
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

/// Command line or deck (exit code 2).
struct ConfigError : Error {
  explicit ConfigError(const std::string& message, std::string hint = {})
      : Error(ExitCode::usage, message, std::move(hint)) {}
};

/// Data sets (exit code 3).
struct DataError : Error {
  explicit DataError(const std::string& message, std::string hint = {})
      : Error(ExitCode::data, message, std::move(hint)) {}
};

/// Checkpoints and run directories (exit code 4).
struct CheckpointError : Error {
  explicit CheckpointError(const std::string& message, std::string hint = {})
      : Error(ExitCode::checkpoint, message, std::move(hint)) {}
};

/// Launch, MPI and shared memory (exit code 5).
struct CommError : Error {
  explicit CommError(const std::string& message, std::string hint = {})
      : Error(ExitCode::comm, message, std::move(hint)) {}
};

/// Non-finite loss or gradients (exit code 6).
struct DivergedError : Error {
  explicit DivergedError(const std::string& message, std::string hint = {})
      : Error(ExitCode::diverged, message, std::move(hint)) {}
};

}  // namespace kolo
