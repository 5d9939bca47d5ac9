// MPI, and the way the job was started.
#include <fmt/format.h>

#include <algorithm>

#include "doctor_wording.hpp"
#include "kolo/app/doctor_findings.hpp"

namespace kolo::app {
namespace {

void judge_mpi(const HostFacts& host, std::vector<Finding>& findings) {
  const comm::MpiFacts& mpi = host.mpi;
  if (mpi.library_major != 0 && mpi.header_major != 0 && mpi.library_major != mpi.header_major) {
    findings.push_back(
        {Severity::error, "mpi-version",
         fmt::format("{}: {}: the library that runs is not the one kolo was compiled for", host.name,
                     mpi.library),
         "load the MPI kolo was built with (module, LD_LIBRARY_PATH), or build kolo anew with this one"});
  }
  if (!mpi.multithreaded) {
    findings.push_back(
        {Severity::note, "mpi-threads",
         fmt::format(
             "{}: MPI offers thread level {}, below MPI_THREAD_MULTIPLE: only one thread may call it; "
             "kolo needs no more today",
             host.name, mpi.thread_level),
         "nothing to mend; for the level of an MPI see ompi_info | grep MPI_THREAD_MULTIPLE"});
  }
  if (host.ranks == 1 || mpi.single_copy != "none") return;
  const bool forbidden = mpi.ptrace_scope.value_or(0) > 0;
  findings.push_back(
      {Severity::note, "single-copy",
       fmt::format("{}: ranks cannot read each other's memory{}: large messages are copied twice", host.name,
                   forbidden ? fmt::format(" (kernel.yama.ptrace_scope = {})", *mpi.ptrace_scope) : ""),
       forbidden
           ? "sysctl kernel.yama.ptrace_scope=0 (as root), or --cap-add SYS_PTRACE for containers; "
             "comm.strategy "
             "= shared does not need it"
           : "see btl_vader_single_copy_mechanism of Open MPI; comm.strategy = shared does not need it"});
}

void judge_environment(const DoctorFacts& facts, std::vector<Finding>& findings) {
  const auto differs = std::ranges::find_if(facts.ranks, [](const RankFacts& rank) {
    return !rank.omp_num_threads.empty() && rank.omp_num_threads != std::to_string(rank.threads);
  });
  if (differs == facts.ranks.end()) return;
  findings.push_back(
      {Severity::note, "omp-num-threads",
       fmt::format("OMP_NUM_THREADS is {} but rank {} uses {}: kolo does not follow the variable",
                   differs->omp_num_threads, differs->rank, counted(differs->threads, "thread")),
       "set run.threads to have another number"});
}

void judge_gpus(const DoctorFacts& facts, std::vector<Finding>& findings) {
  for (const HostFacts& host : facts.hosts) {
    if (host.machine.gpus == 0) continue;
    findings.push_back({Severity::note, "gpus",
                        fmt::format("{} has {}, which this build of kolo does not use", host.name,
                                    counted(host.machine.gpus, "GPU")),
                        "nothing to mend: this build trains on processors"});
  }
}

}  // namespace

std::vector<Finding> judge_launch(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  for (const HostFacts& host : facts.hosts)
    judge_mpi(host, findings);
  judge_environment(facts, findings);
  judge_gpus(facts, findings);
  if (!facts.deck_problem.empty()) {
    findings.push_back({Severity::warning, "deck", "the deck's model cannot be made: " + facts.deck_problem,
                        "kolo check looks at deck and data more closely"});
  }
  return findings;
}

}  // namespace kolo::app
