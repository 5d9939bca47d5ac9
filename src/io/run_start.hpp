// How a run directory's contents decide what a start may do; the files of RunDirectory by kind.
#pragma once

#include <filesystem>
#include <vector>

#include "kolo/io/run_directory.hpp"

namespace kolo::io {

/// Empty where there is no directory; a directory that cannot be listed is an error, not an empty one.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory);
/// All step_*.h5, newest (highest step) first.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& directory);

/// The errors of RunDirectory's constructor that depend on what earlier starts left.
Start decide_start(const std::filesystem::path& run, const std::filesystem::path& checkpoint_directory,
                   config::Resume resume);
[[noreturn]] void throw_no_checkpoint(const std::filesystem::path& run);

}  // namespace kolo::io
