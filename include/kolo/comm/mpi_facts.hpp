// What MPI says about itself once it runs: version, threads, and how messages travel.
//
// Open MPI shows its open transports through the tool interface of the standard (MPI_T), as categories named
// opal_btl_<name> and ompi_pml_<name>; with another MPI these lists stay empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kolo::comm {

struct MpiFacts {
  std::string library;         ///< what runs, and what kolo was compiled with
  int library_major = 0;       ///< 0: not known
  int header_major = 0;        ///< 0: not known
  bool multithreaded = false;  ///< MPI_THREAD_MULTIPLE
  std::string thread_level;
  std::vector<std::string> messaging;   ///< layers that match messages, e.g. "ob1", "ucx"
  std::vector<std::string> transports;  ///< e.g. "self", "tcp", "vader"
  std::string
      single_copy;  ///< how ranks of a node read each other's memory: "cma", ..., "none"; empty: unknown
  std::optional<int> ptrace_scope;    ///< above 0 keeps ranks from reading each other's memory
  std::vector<std::string> settings;  ///< OMPI_MCA_* in the environment that bear on messages and binding
};

/// Between MPI_Init and MPI_Finalize.  Throws CommError.
MpiFacts look_at_mpi();

}  // namespace kolo::comm
