// The values a numeric deck key accepts, and the words that say so.
//
// NaN and the infinities are in no range: a run that starts with one cannot end well.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace kolo::config {

/// min <= value <= max.
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();

  bool contains(std::int64_t value) const { return min <= value && value <= max; }
  /// "<noun> from 1 to 1000000"
  std::string text(std::string_view noun) const;
};

enum class End { closed, open };

/// An interval of finite numbers; an infinite bound means none.
struct RealRange {
  double low = -std::numeric_limits<double>::infinity();
  End low_end = End::closed;
  double high = std::numeric_limits<double>::infinity();
  End high_end = End::closed;

  bool contains(double value) const;
  /// "<noun>", "<noun> > 0", "<noun> in [0, 1)"
  std::string text(std::string_view noun) const;
};

inline constexpr RealRange kAnyNumber{};
inline constexpr RealRange kPositive{.low = 0, .low_end = End::open};
inline constexpr RealRange kNotNegative{.low = 0};
/// [0, 1): probabilities, fractions, decay rates.
inline constexpr RealRange kFraction{.low = 0, .high = 1, .high_end = End::open};

}  // namespace kolo::config
