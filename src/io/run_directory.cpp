#include "kolo/io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kolo/io/atomic_file.hpp"
#include "kolo/io/descriptor.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"
#include "run_start.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;
using config::Resume;

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
  std::vector<fs::path> missing;
  for (fs::path at = fs::absolute(path).lexically_normal();
       !fs::exists(at, failed) && !failed && at.has_filename(); at = at.parent_path())
    missing.push_back(at);
  fs::create_directories(path, failed);
  if (failed)
    throw ConfigError(
        fmt::format("run directory '{}' cannot be created: {}", path.string(), failed.message()),
        "give a directory you may write with --run-dir");
  // What is in it is worth nothing after a power cut if its own name is not on disk.  A parent that may not
  // be opened is not this run's to keep.
  for (const fs::path& made : missing)
    if (const Descriptor parent = open_descriptor(made.parent_path(), O_RDONLY | O_DIRECTORY))
      sync_descriptor(parent.get());
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

RunDirectory::RunDirectory(fs::path path, Resume resume) : path_(std::move(path)) {
  require_directory(path_);
  std::error_code unknown;
  if (resume == Resume::required && !fs::exists(path_, unknown)) throw_no_checkpoint(path_);
  create(path_);
  lock_.emplace(path_ / ".lock");
  start_ = decide_start(path_, checkpoint_directory(), resume);
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

std::optional<fs::path> RunDirectory::best() const { return target_of(best_link()); }

void RunDirectory::keep_best_of(const fs::path& checkpoint, const fs::path& best) {
  best_of_[checkpoint] = best;
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
