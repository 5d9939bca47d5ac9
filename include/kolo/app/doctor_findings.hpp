// From facts to findings: what is wrong with this machine or this launch, how bad it is, and what mends it.
//
// A pure function, split by topic.  An error is something that makes training wrong, needlessly slow or
// impossible; a warning costs speed or may bite later; a note is worth knowing and no more.
#pragma once

#include <string>
#include <vector>

#include "kolo/app/doctor_facts.hpp"

namespace kolo::app {

enum class Severity { note, warning, error };

struct Finding {
  Severity severity = Severity::note;
  std::string name;  ///< short and stable, for scripts: "shared-cores"
  std::string text;  ///< what was found, and where
  std::string fix;   ///< what to do
};

/// "note", "warning" or "error".
std::string name_of(Severity severity);

/// The worst first.
std::vector<Finding> judge(const DoctorFacts& facts);

/// Threads, cores and quotas of each host.
std::vector<Finding> judge_cores(const DoctorFacts& facts);
/// MPI's version, threads and transports, and how the job was launched.
std::vector<Finding> judge_launch(const DoctorFacts& facts);
/// Room and left-overs in /dev/shm.
std::vector<Finding> judge_shared_memory(const DoctorFacts& facts);
/// What was measured, and what libtorch makes of the processor.
std::vector<Finding> judge_speed(const DoctorFacts& facts);

/// Threads for which the rank has a core: having more of them is another finding.
int threads_with_core(const RankFacts& rank);
/// Threads of `ranks` that can compute at the same time, each on a core that its rank may use.
int busy_cores(const std::vector<RankFacts>& ranks);

}  // namespace kolo::app
