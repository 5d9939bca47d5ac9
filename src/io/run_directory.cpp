#include "kolo/io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "kolo/io/atomic_file.hpp"
#include "kolo/io/descriptor.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;
using config::Resume;

/// Empty where there is no directory; a directory that cannot be listed is an error, not an empty one.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed))
    entries.push_back(it->path());
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw CheckpointError(fmt::format("cannot list '{}': {}", directory.string(), failed.message()),
                          "check its permissions");
  return entries;
}

std::vector<fs::path> checkpoints_in(const fs::path& directory) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const fs::path& entry : entries_of(directory))
    if (const auto step = checkpoint_step(entry.filename().string())) found.emplace_back(*step, entry);
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  for (auto& [step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

bool holds_hdf5(const fs::path& directory) {
  const std::vector<fs::path> entries = entries_of(directory);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    return entry.extension() == ".h5" && !entry.filename().string().starts_with('.');
  });
}

[[noreturn]] void throw_no_checkpoint(const fs::path& run) {
  throw CheckpointError(
      fmt::format("run directory '{}' has no checkpoint to resume from; expected checkpoints/step_*.h5",
                  run.string()),
      "check --run-dir; --resume auto begins a new run where there is none");
}

void require_directory(const fs::path& path) {
  std::error_code failed;
  if (path.empty()) throw ConfigError("the run directory has an empty name", "give one with --run-dir");
  const fs::file_status status = fs::status(path, failed);
  if (fs::exists(status) && !fs::is_directory(status))
    throw ConfigError(fmt::format("run directory '{}' is not a directory", path.string()),
                      "give another one with --run-dir");
}

void create(const fs::path& path) {
  std::error_code failed;
  const bool is_new = fs::create_directories(path, failed);
  if (failed)
    throw ConfigError(
        fmt::format("run directory '{}' cannot be created: {}", path.string(), failed.message()),
        "give a directory you may write with --run-dir");
  if (!is_new) return;
  // What is in it is worth nothing after a power cut if its own name is not on disk.  A parent that may not
  // be opened is not this run's to keep.
  const fs::path absolute = fs::absolute(path, failed);
  if (const Descriptor parent = open_descriptor(absolute.parent_path(), O_RDONLY | O_DIRECTORY))
    sync_descriptor(parent.get());
}

std::int64_t rows_of(const fs::path& csv) {
  std::ifstream file(csv);
  std::int64_t lines = 0;
  for (std::string line; std::getline(file, line);)
    ++lines;
  return std::max<std::int64_t>(lines - 1, 0);
}

bool ended_with_checkpoint(const fs::path& summary) {
  std::ifstream file(summary);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto code = json.find("exit_code");
  return code != json.end() &&
         (*code == static_cast<int>(ExitCode::finished) || *code == static_cast<int>(ExitCode::resumable));
}

// The first epoch's row is written before its checkpoint, so a run killed in between has one row and none; a
// second row, or an end in order, means that there was a checkpoint.
void require_never_had_checkpoint(const fs::path& run) {
  const std::int64_t rows = rows_of(run / "metrics.csv");
  const bool ended = ended_with_checkpoint(run / "summary.json");
  if (rows < 2 && !ended) return;
  throw CheckpointError(
      fmt::format(
          "run directory '{}' holds {} but no checkpoint to resume from; expected checkpoints/step_*.h5",
          run.string(), ended ? "a run that ended in order" : fmt::format("metrics of {} epochs", rows)),
      "put its checkpoints back, or give another --run-dir for a new run");
}

Start decide(const fs::path& run, const fs::path& checkpoint_directory, Resume resume) {
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

/// What a link in the same directory points at; nothing if it does not exist.
std::optional<fs::path> target_of(const fs::path& link) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(link, failed);
  if (failed) return std::nullopt;
  return link.parent_path() / target.filename();
}

void remove_with_warning(const fs::path& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) util::log_warning(fmt::format("cannot remove '{}': {}", path.string(), failed.message()));
}

/// nlohmann writes non-finite numbers as null.
template <class T>
nlohmann::ordered_json json_of(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("step_{:09}.h5", step); }

std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  constexpr std::string_view kPrefix = "step_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* digits = name.data() + kPrefix.size();
  const std::from_chars_result result = std::from_chars(digits, name.data() + name.size(), step);
  if (result.ec != std::errc{} || step < 0 || name != checkpoint_name(step)) return std::nullopt;
  return step;
}

Checkpoint read_named_checkpoint(const fs::path& path) {
  Checkpoint checkpoint = read_checkpoint(path);
  const auto value = checkpoint.progress.find("step");
  const auto* step = value == checkpoint.progress.end() ? nullptr : std::get_if<std::int64_t>(&value->second);
  if (step == nullptr)
    throw CheckpointError(fmt::format("'{}' has no /progress/step", path.string()),
                          "a checkpoint of another program, or of another version of kolo");
  if (path.filename() != checkpoint_name(*step))
    throw CheckpointError(fmt::format("'{}' holds step {}, not that of its name", path.string(), *step),
                          fmt::format("its name should be {}: rename it", checkpoint_name(*step)));
  return checkpoint;
}

std::optional<std::string> stored_deck(const fs::path& run) {
  for (const fs::path& path : checkpoints_in(run / "checkpoints")) {
    try {
      return read_named_checkpoint(path).config;
    } catch (const CheckpointError&) {
      // Said when the run goes on from the one before.
    }
  }
  return std::nullopt;
}

RunDirectory::RunDirectory(fs::path path, Resume resume) : path_(std::move(path)) {
  require_directory(path_);
  std::error_code unknown;
  if (resume == Resume::required && !fs::exists(path_, unknown)) throw_no_checkpoint(path_);
  create(path_);
  lock_.emplace(path_ / ".lock");
  start_ = decide(path_, checkpoint_directory(), resume);
  create(checkpoint_directory());
}

fs::path RunDirectory::checkpoint_path(std::int64_t step) const {
  return checkpoint_directory() / checkpoint_name(step);
}

std::vector<fs::path> RunDirectory::checkpoints() const { return checkpoints_in(checkpoint_directory()); }

NewestCheckpoint RunDirectory::read_newest() {
  const std::vector<fs::path> paths = checkpoints();
  if (paths.empty()) throw_no_checkpoint(path_);
  std::vector<std::string> damaged;
  for (const fs::path& path : paths) {
    try {
      return {path, read_named_checkpoint(path), damaged};
    } catch (const CheckpointError& error) {
      damaged.emplace_back(error.what());
      damaged_.insert(path);
    }
  }
  throw CheckpointError(fmt::format("none of the {} checkpoints in '{}' can be used: {}", paths.size(),
                                    checkpoint_directory().string(), util::join(damaged, "; ")),
                        "restore one from a copy, or give another --run-dir for a new run");
}

void RunDirectory::update_last(const fs::path& checkpoint) {
  damaged_.erase(checkpoint);
  atomic_symlink(checkpoint, last_link());
}

void RunDirectory::update_best(const fs::path& checkpoint) { atomic_symlink(checkpoint, best_link()); }

void RunDirectory::keep_best_of(const fs::path& checkpoint) {
  if (const auto best = target_of(best_link())) best_of_[checkpoint] = *best;
}

void RunDirectory::prune_old(std::int64_t keep) {
  std::vector<fs::path> whole = checkpoints();
  std::erase_if(whole, [&](const fs::path& path) { return damaged_.contains(path); });
  const auto newest = std::min(whole.size(), static_cast<std::size_t>(std::max<std::int64_t>(keep, 1)));
  std::set<fs::path> kept(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(newest));
  std::erase_if(best_of_, [&](const auto& item) { return !kept.contains(item.first); });
  for (const auto& [checkpoint, best] : best_of_)
    kept.insert(best);
  for (const fs::path& link : {last_link(), best_link()})
    if (const auto target = target_of(link)) kept.insert(*target);
  for (const fs::path& path : whole)
    if (!kept.contains(path)) remove_with_warning(path);
}

void RunDirectory::remove_stale_temporaries() {
  for (const fs::path& directory : {path_, checkpoint_directory()})
    for (const fs::path& entry : entries_of(directory))
      if (is_stale_temporary(entry.filename().string())) remove_with_warning(entry);
  std::error_code ignored;
  fs::remove_all(path_ / ".watchdog", ignored);  // of a run that was given up on several nodes
}

bool RunDirectory::stop_requested() const {
  std::error_code unknown;
  const fs::path stop = path_ / "STOP";
  return fs::exists(stop, unknown) && !fs::is_directory(stop, unknown);
}

void RunDirectory::remove_stop_file() { remove_with_warning(path_ / "STOP"); }

void RunDirectory::remove_summary() { remove_with_warning(summary_path()); }

void RunDirectory::write_summary(const Summary& summary) const {
  nlohmann::ordered_json json;
  json["reason"] = summary.reason;
  json["exit_code"] = summary.exit_code;
  json["epochs"] = json_of(summary.epochs);
  json["best_epoch"] = json_of(summary.best_epoch);
  json["best_val_top1"] = json_of(summary.best_val_top1);
  json["test_top1"] = json_of(summary.test_top1);
  json["test_loss"] = json_of(summary.test_loss);
  json["samples_per_s"] = json_of(summary.samples_per_s);
  json["parameters"] = json_of(summary.parameters);
  // A reason may quote a file name of any bytes, which must not stop the summary.
  write_atomically(summary_path(), json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace kolo::io
