// The directory a run writes to, and the decision whether the run is a new one or goes on.
//
//     config.ini  log.txt  metrics.csv|jsonl|h5  summary.json  .lock  STOP
//     checkpoints/step_000001234.h5 ...   checkpoints/last.h5, best.h5 -> one of them
//
// Rank 0 alone uses it, one thread at a time; only what is const may be called beside.  Invariants: nothing
// of an earlier run is overwritten unless the user asked to resume it; a directory belongs to one live
// process (lock_file.hpp); `auto` begins anew only where there is no checkpoint at all, so damaged
// checkpoints never cost a run silently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/config/config.hpp"
#include "kolo/io/checkpoint.hpp"
#include "kolo/io/lock_file.hpp"

namespace kolo::io {

enum class Start { fresh, resumed };

/// What summary.json says; absent and non-finite values become null.
struct Summary {
  std::string reason;
  int exit_code = 0;
  std::optional<std::int64_t> epochs = std::nullopt;
  std::optional<std::int64_t> best_epoch = std::nullopt;
  std::optional<double> best_val_top1 = std::nullopt;
  std::optional<double> test_top1 = std::nullopt;
  std::optional<double> test_loss = std::nullopt;
  std::optional<double> samples_per_s = std::nullopt;
  std::optional<std::int64_t> parameters = std::nullopt;
};

/// "step_000001234.h5"; more than nine digits where the step has more.
std::string checkpoint_name(std::int64_t step);
/// The step whose checkpoint_name() this is; nothing for other names.
std::optional<std::int64_t> checkpoint_step(std::string_view name);
/// The checkpoint in a run's `path`.  Throws CheckpointError where it is damaged, and where its name is not
/// that of the step it holds: resuming goes by names.
Checkpoint read_named_checkpoint(const std::filesystem::path& path);
/// The deck in the newest checkpoint of the run directory `run` that can be read; nothing if there is none.
std::optional<std::string> stored_deck(const std::filesystem::path& run);

struct NewestCheckpoint {
  std::filesystem::path path;
  Checkpoint checkpoint;
  std::vector<std::string> damaged;  ///< a message for each newer checkpoint that had to be passed over
};

class RunDirectory {
 public:
  /// Creates or opens `path`, locks it and decides how to start:
  ///   an earlier run (config.ini or a checkpoint) with Resume::off     -> ConfigError
  ///   no checkpoint with Resume::required                              -> CheckpointError
  ///   links or other .h5 files but no step_*.h5 with Resume::automatic -> CheckpointError
  ///   signs of checkpoints that are gone with Resume::automatic        -> CheckpointError
  ///   a live process works in it                                       -> CommError
  ///   not a directory, or it cannot be created or written              -> ConfigError
  /// A refused start changes no file of an earlier run.
  RunDirectory(std::filesystem::path path, config::Resume resume);

  Start start() const { return start_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_path() const { return path_ / "config.ini"; }
  std::filesystem::path log_path() const { return path_ / "log.txt"; }
  std::filesystem::path summary_path() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoint_directory() const { return path_ / "checkpoints"; }
  std::filesystem::path checkpoint_path(std::int64_t step) const;
  std::filesystem::path last_link() const { return checkpoint_directory() / "last.h5"; }
  std::filesystem::path best_link() const { return checkpoint_directory() / "best.h5"; }

  /// All step_*.h5, newest (highest step) first.
  std::vector<std::filesystem::path> checkpoints() const;
  /// The newest checkpoint that is whole and named by its step.  Throws CheckpointError, with all the
  /// reasons, if there is none.
  NewestCheckpoint read_newest();
  /// Point a link at a checkpoint.  Throw CheckpointError.
  void update_last(const std::filesystem::path& checkpoint);
  void update_best(const std::filesystem::path& checkpoint);
  /// What best.h5 points at, in this directory; nothing if there is no such link.
  std::optional<std::filesystem::path> best() const;
  /// As long as `checkpoint` is kept, so is `best`: a run that has to go on from it finds its best.
  void keep_best_of(const std::filesystem::path& checkpoint, const std::filesystem::path& best);
  /// Removes all checkpoints but the newest `keep` (at least one), what they call the best (keep_best_of()),
  /// what last.h5 and best.h5 point at and those read_newest() found damaged (they do not count).  Failing to
  /// remove a file is a warning.
  void prune_old(std::int64_t keep);
  /// Removes the temporary files of dead processes.  Failing to remove one is a warning.
  void remove_stale_temporaries();

  /// Whether somebody put a file STOP into the directory.
  bool stop_requested() const;
  void remove_stop_file();
  void remove_summary();

  /// Throws CheckpointError if it cannot be written.
  void write_summary(const Summary& summary) const;

 private:
  std::filesystem::path path_;
  std::optional<LockFile> lock_;
  Start start_ = Start::fresh;
  std::set<std::filesystem::path> damaged_;
  std::map<std::filesystem::path, std::filesystem::path> best_of_;
};

}  // namespace kolo::io
