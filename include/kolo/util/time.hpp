// Wall-clock intervals.
#pragma once

#include <chrono>

namespace kolo::util {

/// Seconds since construction or the last lap.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  /// Seconds since the last lap (or construction); starts the next lap.
  double lap() {
    const auto now = Clock::now();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return elapsed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace kolo::util
