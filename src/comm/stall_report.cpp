#include "kolo/comm/stall_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <tuple>

#include "kolo/util/strings.hpp"

namespace kolo::comm {
namespace {

// How far a rank has got: within a step the exchange comes last, and buckets follow each other.
auto progress_of(const RankState& state) {
  const bool waits = state.place.phase == Phase::exchange;
  return std::make_tuple(state.place.step, waits, waits ? state.place.bucket : 0);
}

std::string name_of(const RankState& state) { return fmt::format("rank {} on {}", state.rank, state.host); }

}  // namespace

double stalled_for(const std::vector<RankState>& states) {
  double stopped = 0, silent = std::numeric_limits<double>::infinity();
  bool supervised = false;
  for (const RankState& state : states) {
    if (state.stopped) stopped = std::max(stopped, state.stopped_s);
    silent = std::min(silent, state.silent_s);
    supervised |= state.place.phase != Phase::starting;
  }
  return std::max(stopped, supervised ? silent : 0.0);
}

std::vector<RankState> culprits(const std::vector<RankState>& states) {
  std::vector<RankState> found;
  const auto stopped = [](const RankState& state) { return state.stopped; };
  std::copy_if(states.begin(), states.end(), std::back_inserter(found), stopped);
  if (!found.empty() || states.empty()) return found;
  const auto less = [](const RankState& a, const RankState& b) { return progress_of(a) < progress_of(b); };
  const RankState& last = *std::min_element(states.begin(), states.end(), less);
  if (last.place.phase == Phase::exchange &&
      std::none_of(states.begin(), states.end(), [&](const RankState& s) { return less(last, s); }))
    return found;
  std::copy_if(states.begin(), states.end(), std::back_inserter(found),
               [&](const RankState& s) { return progress_of(s) == progress_of(last); });
  return found;
}

std::string describe_culprits(const std::vector<RankState>& culprits) {
  if (culprits.empty()) return "all ranks wait for each other's messages";
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (const RankState& state : culprits)
    if (names.size() < kNamed) names.push_back(fmt::format("{} ({})", name_of(state), describe(state.place)));
  std::string text = util::join(names, ", ");
  if (culprits.size() > kNamed) text += fmt::format(" and {} more", culprits.size() - kNamed);
  const bool one = culprits.size() == 1;
  return text + (culprits.front().stopped ? (one ? " does not respond" : " do not respond")
                                          : (one ? " does not get on" : " do not get on"));
}

std::vector<std::string> list_ranks(std::vector<RankState> states, std::size_t limit) {
  std::stable_sort(states.begin(), states.end(), [](const RankState& a, const RankState& b) {
    return std::make_tuple(!a.stopped, progress_of(a)) < std::make_tuple(!b.stopped, progress_of(b));
  });
  std::vector<std::string> lines;
  for (const RankState& state : states) {
    if (lines.size() == limit) break;
    lines.push_back(fmt::format("{}: {}, {} for {:.0f} s", name_of(state), describe(state.place),
                                state.stopped ? "process stopped, silent" : "silent", state.silent_s));
  }
  if (states.size() > limit) lines.push_back(fmt::format("and {} more ranks", states.size() - limit));
  return lines;
}

std::string to_text(const std::vector<RankState>& states) {
  std::string text;
  for (const RankState& state : states)
    text += fmt::format("{} {} {} {} {} {:.3f} {} {:.3f}\n", state.rank, state.host,
                        static_cast<int>(state.place.phase), state.place.step, state.place.bucket,
                        state.silent_s, state.stopped ? 1 : 0, state.stopped_s);
  return text;
}

std::vector<RankState> parse_states(const std::string& text) {
  std::vector<RankState> states;
  for (const std::string& line : util::split(text, '\n')) {
    RankState state;
    int phase = 0, stopped = 0;
    std::istringstream fields(line);
    if (!(fields >> state.rank >> state.host >> phase >> state.place.step >> state.place.bucket >>
          state.silent_s >> stopped >> state.stopped_s))
      continue;
    if (phase < 0 || phase > static_cast<int>(Phase::ending)) continue;
    state.place.phase = static_cast<Phase>(phase);
    state.stopped = stopped != 0;
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace kolo::comm
