#include "kolo/io/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "kolo/config/load.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/io/lock_file.hpp"
#include "kolo/util/error.hpp"
#include "verify_parts.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

void require_run_directory(const fs::path& run) {
  constexpr const char* kHint = "give the directory of --run-dir, which holds config.ini and checkpoints/";
  std::error_code failed;
  const fs::file_status status = fs::status(run, failed);
  if (!fs::exists(status))
    throw ConfigError(fmt::format("cannot look into '{}': {}", run.string(),
                                  failed ? failed.message() : std::string("No such file or directory")),
                      kHint);
  if (!fs::is_directory(status))
    throw ConfigError(fmt::format("'{}' is not a directory", run.string()),
                      "kolo inspect looks at a single file");
  if (has_entry(run / "config.ini") || fs::is_directory(run / "checkpoints", failed)) return;
  throw ConfigError(
      fmt::format("'{}' is not a run directory: it has neither config.ini nor checkpoints/", run.string()),
      kHint);
}

FileVerdict verify_config(const fs::path& run, const CheckpointsVerdict& checkpoints) {
  FileVerdict verdict{"config.ini", FileState::ok, ""};
  if (!has_entry(run / verdict.name)) {
    // A run that was killed while it began has none yet.
    verdict.state = checkpoints.checkpoints > 0 ? FileState::damaged : FileState::note;
    verdict.what = "is missing";
    return verdict;
  }
  try {
    const std::string text = read_text(run / verdict.name);
    const auto keys = config::load_config({}, config::DeckText{verdict.name, text}).origins.size();
    verdict.what = fmt::format("{} keys", keys);
    if (keys == 0) throw CheckpointError("has no keys");
    if (!checkpoints.newest) return verdict;
    const auto stored = config::parse_deck(checkpoints.newest->config, "/config").entries.size();
    if (keys >= stored) return verdict;
    verdict.state = FileState::note;
    verdict.what = fmt::format("has {} keys; {} has {}: a resume takes the others from there", keys,
                               checkpoints.newest->name, stored);
  } catch (const Error& error) {
    verdict.state = FileState::damaged;
    verdict.what = error.what();
  }
  return verdict;
}

std::vector<FileVerdict> verify_summary(const fs::path& run) {
  FileVerdict verdict{"summary.json", FileState::ok, ""};
  if (!has_entry(run / verdict.name)) return {};
  try {
    const auto json = nlohmann::json::parse(read_text(run / verdict.name), nullptr, false);
    if (!json.is_object()) throw CheckpointError("is not a JSON object");
    if (const auto reason = json.find("reason"); reason != json.end() && reason->is_string())
      verdict.what = "the run ended: " + config::shown(reason->get<std::string>());
  } catch (const CheckpointError& error) {
    verdict.state = FileState::damaged;
    verdict.what = error.what();
  }
  return {std::move(verdict)};
}

std::vector<FileVerdict> verify_lock(const LockProbe& lock) {
  if (lock.holder) return {{".lock", FileState::note, fmt::format("in use by {}", *lock.holder)}};
  if (lock.unknown.empty()) return {};
  return {{".lock", FileState::note,
           fmt::format("{}: whether a live run uses the directory cannot be told", lock.unknown)}};
}

std::vector<FileVerdict> find_temporaries(const fs::path& run, bool live) {
  std::vector<FileVerdict> found;
  for (const std::string prefix : {"", "checkpoints/"}) {
    try {
      for (const std::string& name : names_in(run / prefix))
        if (is_stale_temporary(name))
          found.push_back({prefix + name, FileState::note,
                           live ? "a temporary file; the live run may be writing it"
                                : "a temporary file of a dead run; the next run removes it"});
    } catch (const CheckpointError& error) {
      // Of checkpoints/, verify_checkpoints() has said so.
      if (prefix.empty()) found.push_back({".", FileState::damaged, error.what()});
    }
  }
  return found;
}

}  // namespace

std::string name_of(FileState state) {
  switch (state) {
    case FileState::ok:
      return "ok";
    case FileState::note:
      return "note";
    case FileState::damaged:
      break;
  }
  return "damaged";
}

std::size_t RunVerdict::damaged() const {
  return static_cast<std::size_t>(std::ranges::count(files, FileState::damaged, &FileVerdict::state));
}

RunVerdict verify_run(const fs::path& directory) {
  require_run_directory(directory);
  const LockProbe lock = probe_lock(directory / ".lock");
  const bool live = lock.holder || !lock.unknown.empty();
  // Checkpoints first: a live run adds a row to the metrics before it stores the row in a checkpoint.
  const CheckpointsVerdict checkpoints = verify_checkpoints(directory, live);
  RunVerdict verdict;
  verdict.holder = lock.holder;
  verdict.checkpoints = checkpoints.checkpoints;
  if (const auto& newest = checkpoints.newest)
    verdict.resume = ResumePoint{newest->name, newest->progress.step, newest->progress.epoch};
  const auto add = [&verdict](const std::vector<FileVerdict>& files) {
    verdict.files.insert(verdict.files.end(), files.begin(), files.end());
  };
  add({verify_config(directory, checkpoints)});
  add(verify_metrics(directory, checkpoints.newest));
  add(verify_summary(directory));
  add(checkpoints.files);
  add(verify_lock(lock));
  add(find_temporaries(directory, live));
  return verdict;
}

}  // namespace kolo::io
