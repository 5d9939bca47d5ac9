// The facts of `kolo doctor` as JSON: how they travel to rank 0, and what --json writes.
//
// Member names are the keys.  An absent optional is null.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "kolo/app/doctor_facts.hpp"
#include "kolo/app/doctor_findings.hpp"

namespace nlohmann {

template <class T>
struct adl_serializer<std::optional<T>> {
  template <class Json>
  static void to_json(Json& json, const std::optional<T>& value) {
    json = value ? Json(*value) : Json(nullptr);
  }
  template <class Json>
  static void from_json(const Json& json, std::optional<T>& value) {
    value = json.is_null() ? std::nullopt : std::optional<T>(json.template get<T>());
  }
};

}  // namespace nlohmann

namespace kolo::comm {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CgroupLimits, cpus, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Machine, processor, sockets, numa_nodes, cores, threads, usable_cores,
                                   memory_bytes, available_bytes, limits, gpus, has_avx2, huge_pages)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MpiFacts, library, library_major, header_major, multithreaded,
                                   thread_level, messaging, transports, single_copy, ptrace_scope, settings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LeftOver, path, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SharedMemory, bytes, free_bytes, left_over, hidden_processes)

}  // namespace kolo::comm

namespace kolo::app {

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostFacts, name, first_rank, ranks, machine, shared_memory, window_bytes,
                                   lacks_room, copy_speed, mpi)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSpeed, product_fp32, product_bf16, convolution_fp32, convolution_bf16)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, first_rank, host, cores, core_list, threads,
                                   omp_num_threads, capability, speed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchFacts, tasks, source, binding, bound_by_launcher, slurm_job,
                                   slurm_step, container)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TorchFacts, version, onednn, capability, asked_capability, memory)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExchangeFacts, strategy, failure, correct, seconds, bus_speed)

}  // namespace kolo::app
