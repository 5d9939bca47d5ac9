// Medians and percentiles of repeated measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace kolo::bench {

/// The value that `fraction` (0..1) of `values` do not exceed, to the nearest rank; 0 without values.
inline double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace kolo::bench
