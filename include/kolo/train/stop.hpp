// Why a run is asked to stop before its end.
//
// Every rank may notice a cause; the flags ride on each step's control message, so that all ranks stop at the
// same step.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace kolo::train {

enum class StopCause : std::size_t { usr1, usr2, term, interrupt, stop_file, time_limit };
inline constexpr std::size_t kStopCauses = 6;
using StopFlags = std::bitset<kStopCauses>;

/// What this rank has noticed so far; called once a step, so it must be cheap.
using StopPoll = std::function<StopFlags()>;

/// "signal USR1", "a STOP file", ...
std::string_view describe(StopCause cause);
/// The first cause that is set.
std::optional<StopCause> first_cause(const StopFlags& flags);

}  // namespace kolo::train
