#include "kolo/comm/machine.hpp"

#include <hwloc.h>

#include <filesystem>
#include <fstream>

#include "kolo/util/memory_policy.hpp"
#include "topology.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

// Cores go by their first usable hardware thread; -1: the job may use none of it.
int first_common(hwloc_const_bitmap_t core, hwloc_const_bitmap_t allowed) {
  int thread = hwloc_bitmap_first(core);
  while (thread >= 0 && hwloc_bitmap_isset(allowed, static_cast<unsigned>(thread)) == 0)
    thread = hwloc_bitmap_next(core, thread);
  return thread;
}

void read_topology(Machine& machine) {
  // Everything the machine has; what this job may use is a part of it.
  const Topology topology = load_topology(HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
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

}  // namespace

Machine look_at_machine() {
  Machine machine;
  read_topology(machine);
  read_memory(machine);
  machine.limits = read_cgroup_limits();
  machine.gpus = count_gpus();
  machine.has_avx2 = has_avx2();
  machine.huge_pages = util::huge_page_setting();
  return machine;
}

}  // namespace kolo::comm
