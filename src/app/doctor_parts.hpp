// The steps in which `kolo doctor` gathers its facts.
#pragma once

#include "kolo/app/doctor_facts.hpp"
#include "kolo/app/run_context.hpp"

namespace kolo::app {

/// Everything about hosts, ranks, MPI, launch and libtorch on every rank; nothing measured.  Collective.
DoctorFacts gather_facts(RunContext& run);
TorchFacts torch_facts(const RunContext& run);
/// The vector instructions that libtorch uses on this rank.
std::string cpu_capability();

/// Fills in what the shared exchange would need and whether there is room for it beside the deck's data, for
/// the deck's model or, without a deck, for one of common size.  Collective.
void add_window_size(RunContext& run, DoctorFacts& facts);

/// Fills in every speed, about three seconds; all ranks compute at the same time.  Collective.
void measure_speeds(RunContext& run, DoctorFacts& facts);

}  // namespace kolo::app
