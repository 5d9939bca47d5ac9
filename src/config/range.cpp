#include "kolo/config/range.hpp"

#include <fmt/format.h>

#include <cmath>

namespace kolo::config {

std::string IntegerRange::text(std::string_view noun) const {
  return fmt::format("{} from {} to {}", noun, min, max);
}

bool RealRange::contains(double value) const {
  if (!std::isfinite(value)) return false;
  const bool above = low_end == End::closed ? value >= low : value > low;
  const bool below = high_end == End::closed ? value <= high : value < high;
  return above && below;
}

std::string RealRange::text(std::string_view noun) const {
  if (std::isfinite(high)) {
    return fmt::format("{} in {}{}, {}{}", noun, low_end == End::closed ? '[' : '(', low, high,
                       high_end == End::closed ? ']' : ')');
  }
  if (std::isfinite(low)) return fmt::format("{} {} {}", noun, low_end == End::closed ? ">=" : ">", low);
  return std::string(noun);
}

}  // namespace kolo::config
