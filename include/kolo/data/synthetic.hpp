// Images made from a seed: for benchmarks, tests and a first run without a data set.
//
// Sample i shows class i mod classes: a smooth pattern of its own (a coarse random grid, interpolated) plus
// noise, so that a network can learn to tell them apart.  Sample i is a function of (seed, part, i, shape,
// classes) alone, the same whatever the size of the set or the rank that asks; only additions and
// multiplications are used, so the bits are portable.
#pragma once

#include <cstdint>

#include "kolo/data/source.hpp"

namespace kolo::data {

struct SyntheticOptions {
  std::uint64_t seed = 1;
  Part part = Part::train;  ///< both parts show the same classes; their noise differs
  std::int64_t samples = 0;
  ImageShape shape;
  std::int64_t classes = 10;
};

/// f32 pixels of mean 0.5, most of them in 0..1.  Throws DataError for a size that is not positive or
/// overflows.
DecodedSource make_synthetic(const SyntheticOptions& options);

}  // namespace kolo::data
