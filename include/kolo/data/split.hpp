// Validation samples taken out of the training set by seed.
//
// A function of (seed, size, fraction) alone: every rank and every resumed run gets the same two disjoint
// sets, whatever the number of ranks.
#pragma once

#include <cstdint>

#include "kolo/data/dataset.hpp"

namespace kolo::data {

struct TrainVal {
  Dataset train;
  Dataset val;
};

/// Takes floor(fraction x size) random samples out for validation; both sets keep the stored order.  0 <
/// fraction < 1. Throws DataError when either set would be empty.
TrainVal split_validation(const Dataset& set, double fraction, std::int64_t seed);

}  // namespace kolo::data
