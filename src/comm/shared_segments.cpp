#include "kolo/comm/shared_segments.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

bool is_a_segments_name(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"vader_segment.", "sm_segment.", "osc_sm.", "osc_rdma."};
  return std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// Other users' processes cannot be looked into, so their files cannot be judged.
bool is_own_file(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

// "7f..-7f.. rw-s 00000000 00:17 42    /dev/shm/name"
void drop_mapped(const fs::path& maps, std::map<std::string, std::int64_t>& files) {
  std::ifstream stream(maps);
  for (std::string line; std::getline(stream, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos) files.erase(line.substr(path));
  }
}

std::vector<LeftOver> find_left_over(const fs::path& folder) {
  std::map<std::string, std::int64_t> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!is_a_segments_name(entry.path().filename().string()) || !is_own_file(entry.path())) continue;
    files[entry.path().string()] = static_cast<std::int64_t>(entry.file_size(ignored));
  }
  if (files.empty()) return {};
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", ignored)) {
    const std::string name = process.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      drop_mapped(process.path() / "maps", files);
  }
  std::vector<LeftOver> left;
  for (const auto& [path, bytes] : files) {
    // A run that ended meanwhile removed its own.
    if (fs::exists(path, ignored)) left.push_back({path, bytes});
  }
  return left;
}

}  // namespace

SharedMemory look_at_shared_memory(const fs::path& folder) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0)
    throw CommError(fmt::format("cannot look at {}: {}", folder.string(), std::strerror(errno)),
                    "kolo and MPI need shared memory; mount a tmpfs there");
  const auto unit = static_cast<std::int64_t>(status.f_frsize);
  return {static_cast<std::int64_t>(status.f_blocks) * unit,
          static_cast<std::int64_t>(status.f_bavail) * unit, find_left_over(folder)};
}

}  // namespace kolo::comm
