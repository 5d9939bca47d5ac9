#include "find_files.hpp"

#include <fmt/format.h>

#include <system_error>

#include "kolo/util/error.hpp"

namespace kolo::data {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::optional<fs::path> first_file(const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_file(folder / name)) return folder / name;
  }
  return std::nullopt;
}

void require_path(const fs::path& path, const std::string& names) {
  if (is_file(path) || is_folder(path)) return;
  std::error_code error;
  const char* what = fs::exists(path, error) ? "neither a file nor a folder" : "no such file or folder";
  throw DataError(fmt::format("{}: {}: expected {}", path.string(), what, names),
                  "A relative path counts from the folder in which the program was started.");
}

}  // namespace kolo::data
