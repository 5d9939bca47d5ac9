// What `kolo doctor` shows and writes.
#pragma once

#include <string>
#include <vector>

#include "kolo/app/doctor_facts.hpp"
#include "kolo/app/doctor_findings.hpp"

namespace kolo::app {

/// Facts, one topic after another.
std::vector<std::string> describe(const DoctorFacts& facts);
/// Each finding and its fix, then the verdict; without findings the verdict alone.
std::vector<std::string> describe(const std::vector<Finding>& findings);
/// The sections "hosts", "ranks", "mpi", "launch", "shared_memory", "libtorch", "speed" and "findings", after
/// "healthy": whether no finding is an error.  Ends in a newline.
std::string to_json(const DoctorFacts& facts, const std::vector<Finding>& findings);

/// The names of the errors among `findings`, each once.
std::vector<std::string> errors_among(const std::vector<Finding>& findings);

}  // namespace kolo::app
