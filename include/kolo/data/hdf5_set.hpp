// Data sets in an HDF5 file: /train/images, /train/labels, /test/images, /test/labels.
//
// Images are uint8, float32 or float64 (kept as f32) of shape (N, H, W), (N, C, H, W) or (N, H, W, C); with
// four axes the first of axis 1 and axis 3 that has 1, 3 or 4 entries is the channels.  Labels are integers
// of shape (N).  Class names may be a string array, data set or attribute, named `class_names` in the root
// group; the number of classes is then theirs. Every call of the HDF5 library happens under io::hdf5_mutex().
#pragma once

#include <filesystem>
#include <optional>

#include "kolo/data/source.hpp"

namespace kolo::data {

/// Nothing when the file has no group for this part.  Throws DataError when it is missing, not HDF5 or
/// damaged, or when a data set is missing or has the wrong rank, type or size; decoding throws for non-finite
/// pixels.
std::optional<DecodedSource> open_hdf5(const std::filesystem::path& path, Part part);

}  // namespace kolo::data
