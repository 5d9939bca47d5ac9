#include "kolo/app/run_context.hpp"

#include "kolo/util/log.hpp"

namespace kolo::app {

void RunContext::close() {
  pulse.enter(comm::Phase::ending);
  if (replica) {
    replica->close();
    replica.reset();
  }
  if (data) {
    data->close();
    data.reset();
  }
  // The watchdog sees to it that all get here; it writes into the directory and the log.
  if (watchdog) mpi->node().barrier();
  watchdog.reset();
  directory.reset();
  util::close_log_file();
  if (mpi) {
    pulse = {};
    // Nobody's process ends while another still watches it.
    if (mpi->board().size() > 0) mpi->node().barrier();
    mpi->finalize();
    mpi.reset();
  }
}

}  // namespace kolo::app
