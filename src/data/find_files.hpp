// Looking for a set's files without exceptions of the file system library.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kolo::data {

bool is_file(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
/// The first of `names` that is a file in `folder`.
std::optional<std::filesystem::path> first_file(const std::filesystem::path& folder,
                                                const std::vector<std::string>& names);
/// Throws DataError unless `path` is a file or a folder; `names` are the files that a folder should have.
void require_path(const std::filesystem::path& path, const std::string& names);

}  // namespace kolo::data
