// The command lines of `kolo plan`: of the jobs it starts, and of the launch it advises.
//
// Both come from the same words, so that what is advised is what was measured.  mpirun gets as few options as
// can be: its --map-by and --bind-to reach the ranks as the user's own wish, and comm.bind = auto would then
// leave them where mpirun puts them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kolo/app/launch_plan.hpp"
#include "kolo/comm/cpu_binding.hpp"
#include "kolo/config/load.hpp"

namespace kolo::app {

/// Slurm's variables, as far as they matter here; zeros outside an allocation.
struct SlurmAllocation {
  bool inside = false;
  int cpus = 0;  ///< of this node; 0: not said.  A CPU of Slurm's is a hardware thread
  int nodes = 1;
};
SlurmAllocation read_slurm_allocation();

/// Where the jobs run.
struct LaunchSite {
  config::Launcher launcher = config::Launcher::mpirun;
  int cores = 1;                   ///< to be divided among the ranks
  int cpus_per_core = 1;           ///< what srun counts as CPUs of a core
  bool oversubscribe = false;      ///< mpirun may know fewer slots than cores
  bool stay_unbound = false;       ///< this process's affinity is narrower than what ranks would bind to
  bool one_of_many_nodes = false;  ///< srun would otherwise use them all
  bool automatic_threads = true;   ///< an even share of the cores needs no run.threads
};
/// `cpu_quota`: seconds of computing a second that the control group grants; 0: no limit.  Throws CommError
/// for srun outside an allocation.
LaunchSite find_site(config::Launcher launcher, const comm::UsableCores& usable, double cpu_quota,
                     const SlurmAllocation& slurm);

/// What all jobs have in common.
struct JobTemplate {
  std::string executable;
  config::CommandLine line;      ///< of kolo plan; deck, --set, steps and warm-up are passed on
  std::int64_t fixed_batch = 0;  ///< global batch for a deck that names none; 0: it does
};
std::vector<std::string> job_words(const LaunchSite& site, const JobTemplate& job,
                                   const Combination& combination);

/// The launch of a training run, to be pasted into a shell.  `program` is how the user calls kolo.
std::string advised_line(const LaunchSite& site, const std::string& program, const config::CommandLine& line,
                         const config::LoadedConfig& loaded, const Combination& combination);

/// `words` as a shell reads them.
std::string shell_line(std::span<const std::string> words);

}  // namespace kolo::app
