// Notices when a rank has died or nothing moves any more, and says who is to blame.
//
// A thread of each rank watches the ranks of its node through the NodeBoard; it needs no MPI, so that it
// works while the main thread hangs in a collective, and no file system.  Time is counted in its own ticks:
// when a whole job is suspended, nobody ticks, and that is not a hang.  What the nodes know is put together
// through files in a shared directory, written only while one of them waits (stall_exchange.hpp).
//
// A process that has died is reported at once.  When no rank of any node gets on with its work for `timeout`
// seconds, or the process of one does not run at all, the ranks that hold up the others are named once as a
// warning; when it lasts twice as long the run is given up.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kolo/comm/node_board.hpp"
#include "kolo/comm/stall_report.hpp"

namespace kolo::comm {

struct NodeName {
  int first_rank = 0;  ///< its lowest world rank
  std::string host;
};

class Watchdog {
 public:
  struct Setup {
    double timeout = 300;         ///< seconds; 0: only deaths are reported
    int own = 0;                  ///< this rank's number on the node
    std::vector<int> ranks;       ///< world ranks of the node, in its order
    std::string host;             ///< name of the node
    std::vector<NodeName> nodes;  ///< of the job, by rising first rank
  };
  /// What has happened, in words; all on the watchdog's thread.
  struct Callbacks {
    std::function<void(const std::string& message)> warn;
    /// A process of this node has ended; on every other rank of the node.
    std::function<void(const RankState& dead)> died;
    /// On one rank of each node.  The one whose `turn` is 0 tells the world; the others follow where that
    /// does not end them.
    std::function<void(const std::string& message, const std::vector<std::string>& ranks, int turn)> give_up;
  };

  /// Starts the thread.  `board` outlives the watchdog.
  Watchdog(const NodeBoard& board, Setup setup, Callbacks callbacks);
  /// Stops it; processes that end afterwards are none of its business.
  ~Watchdog();

  /// Where the nodes exchange what they know, seen by all of them.  Without it, with a single node, or when
  /// it does not answer, each reports what it sees.
  void set_directory(const std::filesystem::path& directory);

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace kolo::comm
