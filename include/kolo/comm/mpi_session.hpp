// MPI from start to end, and the two communicators everything else uses.
//
// The session lives outside main's try block.  `finalize()` ends it in order, collectively; `abort()` ends
// the whole job from one rank.  The destructor does neither: a rank that unwinds alone must not enter a
// collective call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/node_board.hpp"
#include "kolo/util/error.hpp"

namespace kolo::comm {

class MpiSession {
 public:
  /// MPI_Init_thread, asking for MPI_THREAD_MULTIPLE; throws CommError below MPI_THREAD_FUNNELED.
  static MpiSession start(int* argc, char*** argv);
  MpiSession(MpiSession&&) noexcept = default;
  MpiSession& operator=(MpiSession&&) noexcept = default;
  ~MpiSession() = default;

  const Communicator& world() const { return world_; }
  /// The ranks on this node; its rank is the node-local rank.
  const Communicator& node() const { return node_; }
  int thread_level() const { return thread_level_; }
  const std::string& host() const { return host_; }

  /// Makes the board of each node.  Throws AgreedError on all ranks when one has no shared memory left.
  /// Collective.
  void make_board();
  /// Before make_board every caller may print the error line.
  const NodeBoard& board() const { return board_; }
  /// Of all ranks, in rank order.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Collective; every communicator and window must be closed before.
  void finalize();
  /// Ends every rank of the job with `code`; does not return.
  [[noreturn]] void abort(ExitCode code) const;

 private:
  MpiSession(Communicator world, Communicator node, int thread_level);
  Communicator world_;
  Communicator node_;
  NodeBoard board_;
  int thread_level_;
  std::string host_;
  std::vector<std::string> hosts_;
};

/// For errors before there is a session: when MPI is running, ends every rank of the job with `code`.
void abort_if_started(ExitCode code);

/// "single", "funneled", "serialized" or "multiple".
std::string thread_level_name(int level);
/// "Open MPI 4.1.4 (header 4.1.4)": what runs, and what kolo was compiled with.
std::string mpi_library();

}  // namespace kolo::comm
