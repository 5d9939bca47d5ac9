#include "kolo/comm/cpu_binding.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>

#include "topology.hpp"

namespace kolo::comm {
namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Bitmap current_binding(hwloc_topology_t topology) {
  Bitmap set(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_copy(set.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  return set;
}

std::string to_list(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  hwloc_bitmap_list_asprintf(&text, set);
  std::string list(text == nullptr ? "" : text);
  std::free(text);
  return list;
}

std::vector<hwloc_obj_t> cores_in(hwloc_topology_t topology, hwloc_const_bitmap_t set) {
  std::vector<hwloc_obj_t> cores;
  const int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int i = 0; i < count; ++i) {
    hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    if (hwloc_bitmap_intersects(core->cpuset, set)) cores.push_back(core);
  }
  return cores;
}

// The variable that says the user asked for a binding, or null.
const char* explicit_request() {
  for (const char* name : {"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
                           "OMPI_MCA_hwloc_base_cpu_list", "OMPI_MCA_hwloc_base_cpu_set",
                           "PRTE_MCA_hwloc_default_binding_policy", "SLURM_CPU_BIND_TYPE"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    // srun sets its variable even when it binds nothing.
    if (std::string_view(name) == "SLURM_CPU_BIND_TYPE" && std::string_view(value) == "none") continue;
    return name;
  }
  return nullptr;
}

CpuBinding describe(hwloc_topology_t topology, hwloc_const_bitmap_t set, std::string reason) {
  CpuBinding binding;
  for (hwloc_obj_t core : cores_in(topology, set)) {
    binding.cores.push_back(hwloc_bitmap_first(core->cpuset));
  }
  binding.list = to_list(set);
  binding.reason = std::move(reason);
  return binding;
}

// True when some ranks of the node may use the same processing unit.
bool ranks_overlap(const Communicator& node, hwloc_const_bitmap_t mine) {
  Bitmap seen(hwloc_bitmap_alloc());
  Bitmap one(hwloc_bitmap_alloc());
  bool overlap = false;
  for (const std::string& list : node.all_gather(to_list(mine))) {
    hwloc_bitmap_list_sscanf(one.get(), list.c_str());
    overlap = overlap || hwloc_bitmap_intersects(seen.get(), one.get());
    hwloc_bitmap_or(seen.get(), seen.get(), one.get());
  }
  return overlap;
}

// Open MPI's launcher or daemon; not a container's starter, which mpirun has bound as it would bind a rank.
bool parent_is_launcher() {
  std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
  std::string name;
  std::getline(file, name);
  constexpr std::array<std::string_view, 6> kLaunchers = {"mpirun", "mpiexec", "orterun",
                                                          "orted",  "prterun", "prted"};
  return std::ranges::find(kLaunchers, name) != kLaunchers.end();
}

// What the ranks of this node may divide: mpirun binds each to a core of its own accord, so what mpirun (or
// its daemon) itself may use; without it what this process inherited, from taskset or a batch system.
Bitmap cores_to_divide(hwloc_topology_t topology, const Communicator& node) {
  Bitmap set = current_binding(topology);
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    const bool known = parent_is_launcher() &&
                       hwloc_get_proc_cpubind(topology, getppid(), set.get(), HWLOC_CPUBIND_PROCESS) == 0;
    if (!known) hwloc_bitmap_copy(set.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_allowed_cpuset(topology));
  // All divide the same cores, whatever each was started with.
  Bitmap one(hwloc_bitmap_alloc());
  for (const std::string& list : node.all_gather(to_list(set.get()))) {
    hwloc_bitmap_list_sscanf(one.get(), list.c_str());
    hwloc_bitmap_or(set.get(), set.get(), one.get());
  }
  return set;
}

CpuBinding rebind(hwloc_topology_t topology, const Communicator& node) {
  const Bitmap divided = cores_to_divide(topology, node);
  hwloc_const_bitmap_t allowed = divided.get();
  const std::vector<hwloc_obj_t> cores = cores_in(topology, allowed);
  const auto [first, last] = contiguous_part(static_cast<int>(cores.size()), node.size(), node.rank());
  Bitmap set(hwloc_bitmap_alloc());
  for (int i = first; i < last; ++i) {
    hwloc_bitmap_or(set.get(), set.get(), cores[static_cast<std::size_t>(i)]->cpuset);
  }
  hwloc_bitmap_and(set.get(), set.get(), allowed);
  const std::string reason =
      fmt::format("auto: {} core{} over {} rank{}", cores.size(), cores.size() == 1 ? "" : "s", node.size(),
                  node.size() == 1 ? "" : "s");
  if (hwloc_set_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    return describe(topology, current_binding(topology).get(), "kept: this system does not let kolo bind");
  }
  return describe(topology, set.get(), reason);
}

}  // namespace

UsableCores count_usable_cores() {
  const Topology topology = load_topology();
  const Bitmap mine = current_binding(topology.get());
  hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology.get());
  hwloc_bitmap_and(mine.get(), mine.get(), allowed);
  return {static_cast<int>(cores_in(topology.get(), mine.get()).size()), hwloc_bitmap_weight(mine.get()),
          static_cast<int>(cores_in(topology.get(), allowed).size())};
}

std::pair<int, int> contiguous_part(int count, int parts, int part) {
  if (count < parts) {
    const int one = count == 0 ? 0 : part % count;
    return {one, std::min(one + 1, count)};
  }
  const int base = count / parts, extra = count % parts;
  const int first = part * base + std::min(part, extra);
  return {first, first + base + (part < extra ? 1 : 0)};
}

CpuBinding bind_cpus(const Communicator& node, config::Bind bind, int threads) {
  const Topology topology = load_topology();
  const Bitmap inherited = current_binding(topology.get());
  const char* request = explicit_request();
  CpuBinding binding;
  if (bind == config::Bind::none) {
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology.get());
    hwloc_set_cpubind(topology.get(), allowed, HWLOC_CPUBIND_PROCESS);
    binding = describe(topology.get(), allowed, "comm.bind = none");
  } else if (bind == config::Bind::keep) {
    binding = describe(topology.get(), inherited.get(), "comm.bind = keep");
  } else if (request != nullptr) {
    binding = describe(topology.get(), inherited.get(), fmt::format("kept: asked for by {}", request));
  } else {
    binding = rebind(topology.get(), node);
  }
  const Bitmap now = current_binding(topology.get());
  const bool shared = ranks_overlap(node, now.get());
  const auto cores = static_cast<int>(binding.cores.size());
  binding.threads = std::max(1, threads > 0 ? threads : shared ? cores / node.size() : cores);
  return binding;
}

}  // namespace kolo::comm
