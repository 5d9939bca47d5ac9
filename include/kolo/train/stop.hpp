// Why a run is asked to stop before its end.
//
// Every rank may notice a cause; the flags ride on each step's control message, and on one of evaluation
// after each batch, so that all ranks stop at the same place.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace kolo::train {

enum class StopCause : std::size_t { usr1, usr2, term, interrupt, stop_file, time_limit, job_end };
inline constexpr std::size_t kStopCauses = 7;
using StopFlags = std::bitset<kStopCauses>;

/// What this rank has noticed so far; called once a step, so it must be cheap.
using StopPoll = std::function<StopFlags()>;

/// As the kStopCauses numbers of a message, which is then summed (or maximised) over ranks, and back.
void write_flags(const StopFlags& flags, std::span<double> numbers);
StopFlags read_flags(std::span<const double> numbers);

/// "signal USR1", "a STOP file", ...
std::string_view describe(StopCause cause);
/// The first cause that is set.
std::optional<StopCause> first_cause(const StopFlags& flags);

}  // namespace kolo::train
