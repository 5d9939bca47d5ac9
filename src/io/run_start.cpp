#include "run_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kolo/config/load.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;
using config::Resume;

bool holds_hdf5(const fs::path& directory) {
  const std::vector<fs::path> entries = entries_of(directory);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    return entry.extension() == ".h5" && !entry.filename().string().starts_with('.');
  });
}

/// What metrics.csv says of how far a run got.
struct Reach {
  std::int64_t epochs = 0;
  std::int64_t step = 0;  ///< at the end of the last of them
};

Reach reach_of(const fs::path& csv) {
  std::ifstream file(csv);
  Reach reach;
  std::string line, last;
  for (std::getline(file, line); std::getline(file, line); last = line)
    ++reach.epochs;
  const std::vector<std::string> values = util::split(last, ',');  // epoch, step, ...
  if (values.size() > 1) std::from_chars(values[1].data(), values[1].data() + values[1].size(), reach.step);
  return reach;
}

/// The deck a run was started with, as far as it can be read.
config::Config deck_of(const fs::path& run) {
  try {
    const fs::path path = run / "config.ini";
    if (fs::exists(path)) return config::load_config({}, config::read_deck_file(path)).config;
  } catch (const std::exception&) {
    // Then the defaults have to do.
  }
  return {};
}

bool ended_with_checkpoint(const fs::path& summary) {
  std::ifstream file(summary);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto code = json.find("exit_code");
  return code != json.end() &&
         (*code == static_cast<int>(ExitCode::finished) || *code == static_cast<int>(ExitCode::resumable));
}

// An epoch's row is written before its checkpoint, so a run killed in between has the one and not the other;
// what comes after that, or an end in order, means that there was a checkpoint.
bool must_have_had_checkpoint(const config::Config& deck, const Reach& reach) {
  const std::int64_t first = deck.data.val_fraction > 0 ? 1 : deck.checkpoint.every_epochs;
  if (first > 0 && reach.epochs > first) return true;
  return deck.checkpoint.every_steps > 0 && reach.step > deck.checkpoint.every_steps;
}

void require_never_had_checkpoint(const fs::path& run) {
  const Reach reach = reach_of(run / "metrics.csv");
  const bool ended = ended_with_checkpoint(run / "summary.json");
  if (!ended && !must_have_had_checkpoint(deck_of(run), reach)) return;
  throw CheckpointError(
      fmt::format(
          "run directory '{}' holds {} but no checkpoint to resume from; expected checkpoints/step_*.h5",
          run.string(),
          ended ? "a run that ended in order" : fmt::format("metrics of {} epochs", reach.epochs)),
      "put its checkpoints back, or give another --run-dir for a new run");
}

}  // namespace

void throw_no_checkpoint(const fs::path& run) {
  throw CheckpointError(
      fmt::format("run directory '{}' has no checkpoint to resume from; expected checkpoints/step_*.h5",
                  run.string()),
      "check --run-dir; --resume auto begins a new run where there is none");
}

Start decide_start(const fs::path& run, const fs::path& checkpoint_directory, Resume resume) {
  const bool has_checkpoint = !checkpoints_in(checkpoint_directory).empty();
  const bool has_other = !has_checkpoint && holds_hdf5(checkpoint_directory);
  std::error_code unknown;
  if (resume == Resume::off && (has_checkpoint || has_other || fs::exists(run / "config.ini", unknown)))
    throw ConfigError(fmt::format("run directory '{}' already holds a run", run.string()),
                      "add --resume auto to go on with it, or give another --run-dir for a new one");
  if (resume == Resume::required && !has_checkpoint) throw_no_checkpoint(run);
  if (has_other)
    throw CheckpointError(
        fmt::format("'{}' holds .h5 files, but no step_*.h5 to resume from", checkpoint_directory.string()),
        "give the checkpoint its name back, step_<nine digits>.h5 (kolo inspect tells the step), or give "
        "another --run-dir for a new run");
  if (!has_checkpoint) require_never_had_checkpoint(run);
  return has_checkpoint ? Start::resumed : Start::fresh;
}

}  // namespace kolo::io
