// How many threads find a core of their own.
#include <algorithm>
#include <map>
#include <set>

#include "kolo/app/doctor_findings.hpp"

namespace kolo::app {
namespace {

// Assigns threads to cores one by one, moving earlier ones aside where that helps (a bipartite matching by
// augmenting paths).
class Seats {
 public:
  explicit Seats(const std::vector<RankFacts>& ranks) : ranks_(ranks) {}

  bool seat(std::size_t rank) {
    seen_.clear();
    return find_core(rank);
  }

 private:
  bool find_core(std::size_t rank) {
    for (const int core : ranks_[rank].cores) {
      if (!seen_.insert(core).second) continue;
      const auto taken = taken_.find(core);
      if (taken != taken_.end() && !find_core(taken->second)) continue;
      taken_[core] = rank;
      return true;
    }
    return false;
  }

  const std::vector<RankFacts>& ranks_;
  std::map<int, std::size_t> taken_;
  std::set<int> seen_;
};

}  // namespace

int threads_with_core(const RankFacts& rank) {
  return std::min(rank.threads, static_cast<int>(rank.cores.size()));
}

int busy_cores(const std::vector<RankFacts>& ranks) {
  Seats seats(ranks);
  int busy = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (int thread = 0; thread < threads_with_core(ranks[i]) && seats.seat(i); ++thread)
      ++busy;
  }
  return busy;
}

}  // namespace kolo::app
