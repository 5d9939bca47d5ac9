#include "kolo/comm/launch.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

template <class T = int>
std::optional<T> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  T value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0) return std::nullopt;
  return value;
}

}  // namespace

LaunchEnvironment read_launch_environment() {
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
      {"PMI_SIZE", "PMI_RANK"},
      {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  LaunchEnvironment launch;
  launch.job_end = number_from<std::int64_t>("SLURM_JOB_END_TIME");
  for (const auto& [size, rank] : kVariables) {
    launch.tasks = number_from(size);
    if (!launch.tasks) continue;
    launch.rank = number_from(rank);
    launch.source = size;
    break;
  }
  return launch;
}

void require_joined_world(const LaunchEnvironment& launch, int world_size) {
  if (world_size != 1 || launch.tasks.value_or(1) <= 1) return;
  throw CommError(
      fmt::format(
          "{} copies of kolo were started ({} = {}) but each is alone: MPI says world size 1, expected {}",
          *launch.tasks, launch.source, *launch.tasks, *launch.tasks),
      "the launcher and this program's MPI do not know each other, so the copies run as singletons; start "
      "with the mpirun\n"
      "of the MPI kolo was built with, or with srun --mpi=pmix (srun --mpi=list shows what the site has)");
}

}  // namespace kolo::comm
