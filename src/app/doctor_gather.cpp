#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "doctor_json.hpp"
#include "doctor_parts.hpp"
#include "kolo/comm/agree.hpp"

namespace kolo::app {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Each kind of container leaves a trace of its own.
std::string container_kind() {
  namespace fs = std::filesystem;
  if (!variable("APPTAINER_CONTAINER").empty()) return "Apptainer";
  if (!variable("SINGULARITY_CONTAINER").empty()) return "Singularity";
  std::error_code ignored;
  if (fs::exists("/run/.containerenv", ignored)) return "Podman";
  if (fs::exists("/.dockerenv", ignored)) return "Docker";
  std::ifstream groups("/proc/1/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.find("kubepods") != std::string::npos) return "Kubernetes";
    if (line.find("docker") != std::string::npos) return "Docker";
  }
  return "";
}

LaunchFacts launch_facts(const RunContext& run) {
  LaunchFacts facts;
  facts.tasks = run.launch.tasks.value_or(0);
  facts.source = run.launch.source;
  facts.binding = run.binding.reason;
  facts.bound_by_launcher = variable("OMPI_MCA_orte_bound_at_launch") == "1" ||
                            variable("SLURM_CPU_BIND_TYPE").starts_with("mask_cpu");
  facts.slurm_job = variable("SLURM_JOB_ID");
  facts.slurm_step = variable("SLURM_STEP_ID");
  facts.container = container_kind();
  return facts;
}

RankFacts rank_facts(const RunContext& run, int first_rank) {
  RankFacts facts;
  facts.rank = run.world().rank();
  facts.first_rank = first_rank;
  facts.host = run.mpi->host();
  facts.cores = run.binding.cores;
  facts.core_list = run.binding.list;
  facts.threads = run.binding.threads;
  facts.omp_num_threads = variable("OMP_NUM_THREADS");
  facts.capability = cpu_capability();
  return facts;
}

HostFacts host_facts(const RunContext& run) {
  HostFacts facts;
  facts.name = run.mpi->host();
  facts.first_rank = run.world().rank();
  facts.ranks = run.mpi->node().size();
  facts.machine = comm::look_at_machine();
  facts.shared_memory = comm::look_at_shared_memory();
  facts.mpi = comm::look_at_mpi();
  return facts;
}

// Names of hosts and files need not be UTF-8.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class Facts>
std::vector<Facts> parse(const std::vector<std::string>& texts) {
  std::vector<Facts> all;
  for (const std::string& text : texts) {
    if (!text.empty()) all.push_back(Json::parse(text).get<Facts>());
  }
  return all;
}

}  // namespace

DoctorFacts gather_facts(RunContext& run) {
  const comm::Communicator& world = run.world();
  const bool speaks_for_host = run.mpi->node().rank() == 0;
  const auto first_rank = run.mpi->node().broadcast(static_cast<std::int64_t>(world.rank()), 0);
  DoctorFacts facts;
  const std::string host =
      comm::agree(world, [&] { return speaks_for_host ? dump(host_facts(run)) : std::string(); });
  facts.hosts = parse<HostFacts>(world.all_gather(host));
  facts.ranks = parse<RankFacts>(world.all_gather(dump(rank_facts(run, static_cast<int>(first_rank)))));
  facts.launch = launch_facts(run);
  facts.torch = torch_facts(run);
  return facts;
}

}  // namespace kolo::app
