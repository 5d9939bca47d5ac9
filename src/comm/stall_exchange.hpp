// What the nodes of a job tell each other while something hangs: a small file each in a shared directory.
//
// A node where nothing moves asks: it writes down what its ranks do, anew in every interval.  The others look
// in every interval whether somebody asks, and then write likewise, so that a node that waits for one that
// is busy can tell it from one that is gone.  A file counts as long as its text keeps changing; no clocks are
// compared.
//
// All of this happens on a thread of its own.  The directory may be the very thing that hangs: then there is
// no news, and nobody else waits for it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kolo/comm/stall_report.hpp"
#include "kolo/comm/watchdog.hpp"

namespace kolo::comm {

class StallExchange {
 public:
  struct Setup {
    std::filesystem::path directory;  ///< files go to its subdirectory .watchdog
    int first_rank = 0;               ///< of this node
    std::vector<NodeName> nodes;      ///< all, this one among them, in the order of their first ranks
    double interval_s = 1;
  };
  /// What the other nodes have said.
  struct News {
    std::vector<RankState> others;  ///< a node that gives no sign is its first rank, stopped
    int turn = 0;                   ///< how many nodes that ask come before this one
  };

  explicit StallExchange(Setup setup);
  /// Leaves a thread behind that hangs in the file system.
  ~StallExchange();
  StallExchange(const StallExchange&) = delete;
  StallExchange& operator=(const StallExchange&) = delete;

  /// What this node has to say at the time `now_s`, and whether it asks.  Does not wait.  Times are the
  /// caller's, in seconds, and stand still while the process does.
  void post(std::vector<RankState> own, bool asks, double now_s);
  /// The answers to what was asked; nothing before there can be any, or when the directory does not answer.
  std::optional<News> news(double now_s) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace kolo::comm
