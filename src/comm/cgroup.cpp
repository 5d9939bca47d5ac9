#include "kolo/comm/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kolo/util/strings.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

template <class T>
void tighten(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// `group` below `root` and every group around it.  A container may not see the path it is in, but the root is
// its own.
std::vector<fs::path> enclosing(const fs::path& root, const fs::path& group) {
  std::vector<fs::path> paths;
  for (fs::path at = group.relative_path(); !at.empty(); at = at.parent_path())
    paths.push_back(root / at);
  paths.push_back(root);
  return paths;
}

// "200000 100000": microseconds of each period; "max" or -1 for no limit.
void read_quota(const std::string& quota_and_period, CgroupLimits& limits) {
  std::istringstream text(quota_and_period);
  double quota = 0, period = 0;
  if (text >> quota >> period && quota > 0 && period > 0) tighten(limits.cpus, quota / period);
}

void read_memory(const std::string& bytes, CgroupLimits& limits) {
  std::istringstream text(bytes);
  std::int64_t value = 0;
  if (text >> value && value > 0) tighten(limits.memory_bytes, value);
}

void read_unified(const fs::path& root, const fs::path& group, CgroupLimits& limits) {
  for (const fs::path& path : enclosing(root, group)) {
    read_quota(first_line(path / "cpu.max"), limits);
    read_memory(first_line(path / "memory.max"), limits);
  }
}

// Version 1 has a tree for each controller.
void read_controller(const fs::path& mount, const std::string& controller, const fs::path& group,
                     CgroupLimits& limits) {
  for (const fs::path& path : enclosing(mount / controller, group)) {
    if (controller == "cpu") {
      read_quota(first_line(path / "cpu.cfs_quota_us") + " " + first_line(path / "cpu.cfs_period_us"),
                 limits);
    } else if (controller == "memory") {
      read_memory(first_line(path / "memory.limit_in_bytes"), limits);
    }
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& membership, const fs::path& mount) {
  CgroupLimits limits;
  std::ifstream groups(membership);
  for (std::string line; std::getline(groups, line);) {
    // "0::/group" in version 2, "4:cpu,cpuacct:/group" in version 1; a group's name may hold colons.
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      read_unified(mount, group, limits);
    } else {
      for (const std::string& controller : util::split(controllers, ','))
        read_controller(mount, controller, group, limits);
    }
  }
  return limits;
}

}  // namespace kolo::comm
