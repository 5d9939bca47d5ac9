#include "kolo/train/stop.hpp"

namespace kolo::train {

void write_flags(const StopFlags& flags, std::span<double> numbers) {
  for (std::size_t i = 0; i < kStopCauses; ++i)
    numbers[i] = flags.test(i) ? 1 : 0;
}

StopFlags read_flags(std::span<const double> numbers) {
  StopFlags flags;
  for (std::size_t i = 0; i < kStopCauses; ++i)
    flags.set(i, numbers[i] > 0);
  return flags;
}

std::string_view describe(StopCause cause) {
  switch (cause) {
    case StopCause::usr1:
      return "signal USR1";
    case StopCause::usr2:
      return "signal USR2";
    case StopCause::term:
      return "signal TERM";
    case StopCause::interrupt:
      return "signal INT";
    case StopCause::stop_file:
      return "a STOP file in the run directory";
    case StopCause::time_limit:
      return "--max-time";
    case StopCause::job_end:
      return "the coming end of the Slurm job";
  }
  return "?";
}

std::optional<StopCause> first_cause(const StopFlags& flags) {
  for (std::size_t i = 0; i < kStopCauses; ++i) {
    if (flags.test(i)) return static_cast<StopCause>(i);
  }
  return std::nullopt;
}

}  // namespace kolo::train
