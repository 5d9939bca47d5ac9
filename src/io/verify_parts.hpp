// The parts of verify_run(), a file each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/io/inspect.hpp"
#include "kolo/io/verify.hpp"

namespace kolo::io {

/// What the other files are compared with: the newest checkpoint that is whole, without its tensors.
struct NewestWhole {
  std::string name;  ///< relative to the run directory
  ProgressFacts progress;
  std::string config;
  MetricTable metrics;
};

struct CheckpointsVerdict {
  std::vector<FileVerdict> files;  ///< checkpoints, newest first, and links
  std::optional<NewestWhole> newest;
  std::size_t checkpoints = 0;
};

CheckpointsVerdict verify_checkpoints(const std::filesystem::path& run, bool live);
/// metrics.csv, metrics.jsonl and metrics.h5.
std::vector<FileVerdict> verify_metrics(const std::filesystem::path& run,
                                        const std::optional<NewestWhole>& newest);

/// A regular file's text.  Never blocks.  Throws CheckpointError without the path: the caller's line names
/// it.
std::string read_text(const std::filesystem::path& path);
/// An error's message without the quoted `path` and "is damaged: ", which the line it goes to says already.
std::string without_path(std::string message, const std::filesystem::path& path);
/// Names in `directory`, sorted; nothing if there is none.  Throws CheckpointError if it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& directory);
/// Whether anything has this name, a dangling link included.
bool has_entry(const std::filesystem::path& path);

}  // namespace kolo::io
