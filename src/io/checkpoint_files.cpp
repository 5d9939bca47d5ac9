// The checkpoints of a run directory, by name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "kolo/util/error.hpp"
#include "run_start.hpp"

namespace kolo::io {

namespace fs = std::filesystem;

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

}  // namespace kolo::io
