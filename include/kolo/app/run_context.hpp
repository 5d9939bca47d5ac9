// What one run of the executable owns, from start to end.
//
// It lives outside main's try block.  Windows and communicators are freed by collective calls: when one rank
// fails alone and unwinds its stack, destroying them there would block it before it could report.  So nothing
// here is destroyed while unwinding; `close()` frees everything, in order, when all ranks leave together, and
// otherwise the job is aborted.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "kolo/comm/cpu_binding.hpp"
#include "kolo/comm/launch.hpp"
#include "kolo/comm/mpi_session.hpp"
#include "kolo/comm/watchdog.hpp"
#include "kolo/config/load.hpp"
#include "kolo/data/data_sets.hpp"
#include "kolo/io/run_directory.hpp"
#include "kolo/train/replica.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {

struct RunContext {
  std::string program = "kolo";  ///< argv[0]
  util::Stopwatch since_start;
  config::CommandLine command_line;
  std::exception_ptr command_line_error;  ///< kept until the ranks can agree on it
  comm::LaunchEnvironment launch;
  bool without_mpi = false;  ///< the command takes no part in a job
  std::optional<comm::MpiSession> mpi;
  comm::Pulse pulse;  ///< on the node's board once there is one
  std::optional<comm::Watchdog> watchdog;
  config::LoadedConfig loaded;
  std::string deck_name;  ///< file name of the deck without extension; empty without one
  std::string memory;     ///< the memory policy in force, for people
  comm::CpuBinding binding;
  std::optional<data::DataSets> data;
  std::unique_ptr<train::Replica> replica;
  std::optional<io::RunDirectory> directory;  ///< rank 0
  bool had_stop_file = false;                 ///< rank 0: one from before this start
  bool owns_directory = false;  ///< its files are now this run's; before, a refused start changes none

  bool shows_bar = false;  ///< on every rank: the screen's last line may be a progress bar, without an end

  const comm::Communicator& world() const { return mpi->world(); }
  bool is_root() const { return world().rank() == 0; }
  config::Config& config() { return loaded.config; }

  /// Collective.  Frees everything that belongs to all ranks and ends MPI.
  void close();
};

}  // namespace kolo::app
