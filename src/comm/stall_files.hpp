// What the nodes of a job tell each other while something hangs: a small file each in a shared directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kolo/comm/stall_report.hpp"

namespace kolo::comm {

class StallFiles {
 public:
  /// Files go to `directory`/.watchdog; `first_rank` tells this node from the others.
  StallFiles(const std::filesystem::path& directory, int first_rank);

  /// Failing to write is not worth a word: the node then counts as silent.
  void write(const std::vector<RankState>& own) const;
  /// Adds to `states` what the other nodes wrote within `fresh_s` seconds; a node that wrote nothing comes in
  /// as its first rank, stopped.  True when this node is the first of those that speak.
  bool merge(std::vector<RankState>& states, const std::vector<int>& first_ranks,
             const std::vector<std::string>& hosts, double fresh_s) const;
  void remove() const;

 private:
  std::filesystem::path file_of(int first_rank) const;
  std::filesystem::path directory_;
  int first_rank_;
};

}  // namespace kolo::comm
