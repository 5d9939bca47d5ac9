#include "kolo/app/run_context.hpp"

#include "kolo/util/log.hpp"

namespace kolo::app {

void RunContext::close() {
  if (replica) {
    replica->close();
    replica.reset();
  }
  if (data) {
    data->close();
    data.reset();
  }
  directory.reset();
  util::close_log_file();
  if (mpi) {
    mpi->finalize();
    mpi.reset();
  }
}

}  // namespace kolo::app
