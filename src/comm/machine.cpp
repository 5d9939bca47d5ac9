#include "kolo/comm/machine.hpp"

#include <hwloc.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

// Everything the machine has; what this job may use is a part of it.
Topology load_whole_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw CommError("hwloc cannot make a topology");
  Topology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) throw CommError("hwloc cannot read this machine's topology");
  return topology;
}

// Cores go by their first usable hardware thread; -1: the job may use none of it.
int first_common(hwloc_const_bitmap_t core, hwloc_const_bitmap_t allowed) {
  int thread = hwloc_bitmap_first(core);
  while (thread >= 0 && hwloc_bitmap_isset(allowed, static_cast<unsigned>(thread)) == 0)
    thread = hwloc_bitmap_next(core, thread);
  return thread;
}

void read_topology(Machine& machine) {
  const Topology topology = load_whole_topology();
  machine.sockets = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PACKAGE);
  machine.numa_nodes = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE);
  machine.cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
  machine.threads = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU);
  hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology.get());
  for (int i = 0; i < machine.cores; ++i) {
    hwloc_obj_t core = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    if (const int thread = first_common(core->cpuset, allowed); thread >= 0)
      machine.usable_cores.push_back(thread);
  }
  hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  machine.processor = model == nullptr ? "unknown processor" : model;
}

// "MemTotal:       24684084 kB"
void read_memory(Machine& machine) {
  constexpr std::int64_t kKiB = 1024;
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  std::int64_t value = 0;
  while (info >> name >> value && std::getline(info, unit)) {
    if (name == "MemTotal:") machine.memory_bytes = value * kKiB;
    if (name == "MemAvailable:") machine.available_bytes = value * kKiB;
  }
}

bool has_avx2() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

int count_gpus() {
  std::error_code ignored;
  const fs::directory_iterator devices("/proc/driver/nvidia/gpus", ignored);
  return static_cast<int>(std::distance(begin(devices), end(devices)));
}

// The word in brackets: "always [madvise] never" -> "madvise".
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const auto open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  read_topology(machine);
  read_memory(machine);
  machine.limits = read_cgroup_limits();
  machine.gpus = count_gpus();
  machine.has_avx2 = has_avx2();
  machine.huge_pages = huge_page_setting();
  return machine;
}

}  // namespace kolo::comm
