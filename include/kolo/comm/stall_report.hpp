// Who holds up the others: a judgement over what each rank was last seen doing.
//
// Pure functions over plain values, so that tests can feed them any situation.
#pragma once

#include <string>
#include <vector>

#include "kolo/comm/pulse.hpp"

namespace kolo::comm {

struct RankState {
  int rank = 0;
  std::string host;
  Place place;
  double silent_s = 0;   ///< since it last got on with its work
  bool stopped = false;  ///< its process does not run at all: stopped, or its machine is
  double stopped_s = 0;  ///< for how long, then

  bool operator==(const RankState&) const = default;
};

/// Seconds for which something has been wrong: a process has not run, or no rank has got on with its work.
/// Before the first step, while all read data, that may take any time.
double stalled_for(const std::vector<RankState>& states);

/// Those the others wait for: processes that do not run, else the ranks that have got least far.  Empty when
/// all wait for each other in the same exchange.
std::vector<RankState> culprits(const std::vector<RankState>& states);

/// "rank 1 on node7 does not respond (step 17, forward)", of at most three; for no culprits, that all wait.
std::string describe_culprits(const std::vector<RankState>& culprits);
/// One line a rank, at most `limit` of them, those that have got least far first.
std::vector<std::string> list_ranks(std::vector<RankState> states, std::size_t limit);

/// As text, a line a rank; host names have no blanks.
std::string to_text(const std::vector<RankState>& states);
/// Lines that are not understood are left out.
std::vector<RankState> parse_states(const std::string& text);

}  // namespace kolo::comm
