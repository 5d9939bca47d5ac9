#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kolo/io/run_directory.hpp"
#include "kolo/util/error.hpp"
#include "verify_parts.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

std::string in_checkpoints(const std::string& name) { return "checkpoints/" + name; }

/// A step_*.h5 after it was read.
struct Judged {
  std::string name;  ///< in checkpoints/
  std::int64_t step = 0;
  bool readable = false;
};

/// Reads one directory's checkpoints and links, and remembers what it read.
class Survey {
 public:
  Survey(fs::path directory, bool live) : directory_(std::move(directory)), live_(live) {}

  void read_checkpoints(const std::vector<std::string>& names);
  void check_last();
  void check_best();
  void note_others(const std::vector<std::string>& names);
  CheckpointsVerdict take() { return std::move(verdict_); }
  void add(const std::string& name, FileState state, std::string what) {
    verdict_.files.push_back({in_checkpoints(name), state, std::move(what)});
  }

 private:
  void judge(const std::string& name, std::int64_t step);
  std::optional<std::int64_t> check_link(const std::string& link);
  std::optional<std::string> why_unreadable(const fs::path& target) const;

  fs::path directory_;
  bool live_;
  std::vector<Judged> judged_;  // newest first
  CheckpointsVerdict verdict_;
};

void Survey::read_checkpoints(const std::vector<std::string>& names) {
  std::vector<std::pair<std::int64_t, std::string>> steps;
  for (const std::string& name : names)
    if (const auto step = checkpoint_step(name)) steps.emplace_back(*step, name);
  std::sort(steps.rbegin(), steps.rend());
  for (const auto& [step, name] : steps)
    judge(name, step);
  verdict_.checkpoints = judged_.size();
}

void Survey::judge(const std::string& name, std::int64_t step) {
  const fs::path path = directory_ / name;
  try {
    Checkpoint checkpoint = read_named_checkpoint(path);
    const ProgressFacts progress = progress_of(checkpoint);
    judged_.push_back({name, step, true});
    add(name, FileState::ok, fmt::format("after epoch {}", progress.epoch.value_or(0)));
    if (!verdict_.newest)  // the one a resume would take
      verdict_.newest = NewestWhole{in_checkpoints(name), progress, std::move(checkpoint.config),
                                    std::move(checkpoint.metrics)};
  } catch (const CheckpointError& error) {
    // A live run removes old checkpoints, perhaps since the directory was listed.
    if (!has_entry(path)) return;
    judged_.push_back({name, step, false});
    add(name, FileState::damaged, without_path(error.what(), path));
  }
}

/// Nothing for a checkpoint that is whole.
std::optional<std::string> Survey::why_unreadable(const fs::path& target) const {
  std::error_code unknown;
  if (!fs::exists(target, unknown)) return "it does not exist";
  const auto known = std::ranges::find(judged_, target.filename().string(), &Judged::name);
  const bool inside = fs::equivalent(target.parent_path(), directory_, unknown);
  if (inside && known != judged_.end())
    return known->readable ? std::nullopt : std::optional<std::string>("it is damaged");
  try {
    read_checkpoint(target);
    return std::nullopt;
  } catch (const CheckpointError& error) {
    return without_path(error.what(), target);
  }
}

/// Adds a verdict unless the link is sound; then returns the step it points at.
std::optional<std::int64_t> Survey::check_link(const std::string& link) {
  const fs::path path = directory_ / link;
  std::error_code failed;
  const fs::path stored = fs::read_symlink(path, failed);
  if (failed) {
    try {
      read_checkpoint(path);
      add(link, FileState::note, "is a file; expected a link");
    } catch (const CheckpointError& error) {
      add(link, FileState::damaged, without_path(error.what(), path));
    }
    return std::nullopt;
  }
  const fs::path target = directory_ / stored;  // an absolute one stays as it is
  if (const auto why = why_unreadable(target)) {
    // A live run may have moved the link meanwhile, and removed what it pointed at.
    if (live_ && fs::read_symlink(path, failed) != stored && !failed) return check_link(link);
    add(link, FileState::damaged, fmt::format("points at {}: {}", stored.string(), *why));
    return std::nullopt;
  }
  const auto step = checkpoint_step(stored.filename().string());
  if (!step || stored.has_parent_path()) {
    add(link, FileState::note, fmt::format("points at {}; expected a step_*.h5 beside it", stored.string()));
    return std::nullopt;
  }
  return step;
}

void Survey::check_last() {
  const std::string link = "last.h5";
  if (!has_entry(directory_ / link)) {
    if (!judged_.empty()) add(link, FileState::note, "is missing; a resume does not need it");
    return;
  }
  const auto step = check_link(link);
  if (!step) return;
  // A run may be ended between writing a checkpoint and moving the link.
  if (!judged_.empty() && *step < judged_.front().step) {
    add(link, FileState::note,
        fmt::format("points at step {}; the newest checkpoint is of step {}", *step, judged_.front().step));
  } else {
    add(link, FileState::ok, fmt::format("step {}", *step));
  }
}

void Survey::check_best() {
  const std::string link = "best.h5";
  const auto& newest = verdict_.newest;
  const std::int64_t best = newest ? newest->progress.best_step.value_or(0) : 0;
  const bool best_exists = std::ranges::find(judged_, best, &Judged::step) != judged_.end();
  const bool expected = best > 0 && best_exists;
  if (!has_entry(directory_ / link)) {
    if (expected) add(link, FileState::note, fmt::format("is missing; a resume points it at step {}", best));
    return;
  }
  const auto step = check_link(link);
  if (!step) return;
  const std::int64_t newest_step = newest ? newest->progress.step.value_or(0) : 0;
  // What was evaluated after the newest checkpoint was written is newer than what that says.
  if (!expected || *step == best || *step >= newest_step) {
    add(link, FileState::ok, fmt::format("step {}", *step));
    return;
  }
  // The link is moved after the checkpoint that calls itself the best is there.
  const bool moving = live_ || best == newest_step;
  add(link, moving ? FileState::note : FileState::damaged,
      fmt::format("points at step {}; the best of {} is step {}{}", *step, newest->name, best,
                  moving ? ", a resume moves it" : ""));
}

void Survey::note_others(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool ours =
        checkpoint_step(name) || name == "last.h5" || name == "best.h5" || name.starts_with('.');
    if (!ours && name.ends_with(".h5"))
      add(name, FileState::note, "is not named like a checkpoint: kolo does not use it");
  }
}

}  // namespace

CheckpointsVerdict verify_checkpoints(const fs::path& run, bool live) {
  const fs::path directory = run / "checkpoints";
  Survey survey(directory, live);
  try {
    const std::vector<std::string> names = names_in(directory);
    survey.read_checkpoints(names);
    survey.check_last();
    survey.check_best();
    survey.note_others(names);
  } catch (const CheckpointError& error) {
    survey.add("", FileState::damaged, error.what());
  }
  return survey.take();
}

}  // namespace kolo::io
