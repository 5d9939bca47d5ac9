#include "kolo/comm/shared_segments.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

bool is_a_segments_name(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"vader_segment.", "sm_segment.", "osc_sm.", "osc_rdma."};
  return std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// A job that starts may not have mapped its files yet, one that ends may not have removed them.
constexpr std::chrono::seconds kLeastAge{60};

using Files = std::map<std::string, std::int64_t>;  // sizes by path

bool belongs_to_user(const struct stat& status) { return status.st_uid == geteuid(); }

bool is_old(const struct stat& status) {
  return std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(status.st_mtime) >=
         kLeastAge;
}

// Other users' processes cannot be looked into, so their files cannot be judged.
Files find_candidates(const fs::path& folder) {
  Files files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    struct stat status {};
    if (!is_a_segments_name(entry.path().filename().string()) || lstat(entry.path().c_str(), &status) != 0)
      continue;
    if (S_ISREG(status.st_mode) && belongs_to_user(status) && is_old(status))
      files[entry.path().string()] = static_cast<std::int64_t>(status.st_size);
  }
  return files;
}

// Lines like "7f..-7f.. rw-s 00000000 00:17 42    /dev/shm/name"; nothing where they may not be read.
std::optional<std::vector<std::string>> mapped_paths(const fs::path& process) {
  std::vector<std::string> paths;
  errno = 0;
  std::ifstream stream(process / "maps");
  for (std::string line; std::getline(stream, line);) {
    if (const auto path = line.find('/'); path != std::string::npos) paths.push_back(line.substr(path));
  }
  // ENOENT, ESRCH: it has ended.
  const bool hidden = (!stream.is_open() || stream.bad()) && errno != ENOENT && errno != ESRCH;
  return hidden ? std::nullopt : std::optional(paths);
}

std::vector<fs::path> processes_in(const fs::path& folder) {
  std::vector<fs::path> processes;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos)
      processes.push_back(entry.path());
  }
  return processes;
}

SharedMemory look_at_files(const fs::path& folder, const fs::path& processes) {
  SharedMemory memory;
  Files files = find_candidates(folder);
  if (files.empty()) return memory;
  int hidden = 0;
  for (const fs::path& process : processes_in(processes)) {
    struct stat status {};
    if (stat(process.c_str(), &status) != 0) continue;
    const std::optional<std::vector<std::string>> paths = mapped_paths(process);
    // The first process of a machine may be closed even to root, and computes nothing.
    const bool matters = belongs_to_user(status) && process.filename() != "1";
    if (!paths && matters) ++hidden;
    for (const std::string& path : paths.value_or(std::vector<std::string>{}))
      files.erase(path);
  }
  std::error_code ignored;
  // A run that ended meanwhile removed its own.
  std::erase_if(files, [&ignored](const auto& file) { return !fs::exists(file.first, ignored); });
  if (files.empty()) return memory;
  memory.hidden_processes = hidden;
  if (hidden > 0) return memory;
  for (const auto& [path, bytes] : files)
    memory.left_over.push_back({path, bytes});
  return memory;
}

}  // namespace

SharedMemory look_at_shared_memory(const fs::path& folder, const fs::path& processes) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0)
    throw CommError(fmt::format("cannot look at {}: {}", folder.string(), std::strerror(errno)),
                    "kolo and MPI need shared memory; mount a tmpfs there");
  const auto unit = static_cast<std::int64_t>(status.f_frsize);
  SharedMemory memory = look_at_files(folder, processes);
  memory.bytes = static_cast<std::int64_t>(status.f_blocks) * unit;
  memory.free_bytes = static_cast<std::int64_t>(status.f_bavail) * unit;
  return memory;
}

}  // namespace kolo::comm
