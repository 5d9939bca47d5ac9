// What `kolo doctor` found out, before anybody judges it.
//
// Plain values, so that the judgement is a function that tests feed with machines nobody has at hand.  Sizes
// are bytes, speeds are operations or bytes a second, 0 where nothing was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kolo/comm/machine.hpp"
#include "kolo/comm/mpi_facts.hpp"
#include "kolo/comm/shared_segments.hpp"

namespace kolo::app {

/// One operating system, with the ranks that share its memory.
struct HostFacts {
  std::string name;
  int first_rank = 0;  ///< identifies it: containers may share a name
  int ranks = 1;
  comm::Machine machine;
  comm::SharedMemory shared_memory;
  std::int64_t window_bytes = 0;  ///< what the shared exchange would need here
  std::string lacks_room;         ///< what keeps it from having them; empty: nothing
  double copy_speed = 0;          ///< of all its ranks together, read plus written
  comm::MpiFacts mpi;             ///< as its first rank sees it
};

/// Operations a second while all ranks compute.
struct RankSpeed {
  double product_fp32 = 0;
  double product_bf16 = 0;
  double convolution_fp32 = 0;
  double convolution_bf16 = 0;
};

struct RankFacts {
  int rank = 0;
  int first_rank = 0;  ///< of its host
  std::string host;
  std::vector<int> cores;  ///< those it may compute on
  std::string core_list;   ///< the same as hardware threads, for people
  int threads = 1;
  std::string omp_num_threads;  ///< the variable; empty: not set
  std::string capability;       ///< the vector instructions libtorch uses
  RankSpeed speed;
};

struct LaunchFacts {
  int tasks = 0;                   ///< as the launcher says; 0: no launcher
  std::string source;              ///< the variable that says so
  std::string binding;             ///< how the ranks' cores came about
  bool bound_by_launcher = false;  ///< before kolo looked at the cores
  std::string slurm_job;           ///< empty: not under Slurm
  std::string slurm_step;
  std::string container;  ///< "Docker", ...; empty: none found
};

struct TorchFacts {
  std::string version;
  std::string onednn;
  std::string capability;
  std::string asked_capability;  ///< ATEN_CPU_CAPABILITY; empty: not set
  std::string memory;            ///< the memory policy in force
};

/// One exchange strategy, tried with 16 MiB of fp32.
struct ExchangeFacts {
  std::string strategy;
  std::string failure;  ///< why it could not be tried; empty otherwise
  bool correct = true;
  double seconds = 0;
  double bus_speed = 0;
};

struct DoctorFacts {
  std::vector<HostFacts> hosts;  ///< by first rank, that of rank 0 in front
  std::vector<RankFacts> ranks;  ///< in rank order
  LaunchFacts launch;
  TorchFacts torch;
  std::string window_model;              ///< whose exchange HostFacts::window_bytes is about
  std::string deck_problem;              ///< why the deck's model could not be made; empty otherwise
  std::vector<ExchangeFacts> exchanges;  ///< none with one rank
};

}  // namespace kolo::app
