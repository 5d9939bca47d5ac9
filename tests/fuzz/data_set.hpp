// Reads a whole data set back and compares it with the bytes it was made from.
//
// Mapped files need the comparison: memory behind the end of a file, up to the end of its page, reads as
// zeros, and no sanitizer notices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "fuzz/require.hpp"
#include "kolo/data/dataset.hpp"

namespace kolo::fuzz {

/// Reads every pixel and label; returns a digest so that the reads are not optimised away.
inline void read_everything(const data::Dataset& set) {
  require(set.size() > 0, "a data set that opens has samples");
  const std::int64_t pixels = set.shape().numel();
  require(pixels > 0, "a data set that opens has pixels");
  volatile unsigned sum = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    require(set.label(i) >= 0 && set.label(i) < set.num_classes(), "labels are below num_classes()");
    for (const std::byte pixel : std::span(set.image(i), static_cast<std::size_t>(pixels)))
      sum = sum + std::to_integer<unsigned>(pixel);
  }
}

/// Requires the pixels of `set` to be those of `expected`, where image i begins at first + i * stride.
inline void require_pixels(const data::Dataset& set, std::span<const std::byte> expected, std::size_t first,
                           std::size_t stride) {
  const auto pixels = static_cast<std::size_t>(set.shape().numel());
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::size_t begin = first + static_cast<std::size_t>(i) * stride;
    require(begin + pixels <= expected.size(), "every image lies inside its file");
    require(std::ranges::equal(std::span(set.image(i), pixels), expected.subspan(begin, pixels)),
            "pixels are those of the file");
  }
}

}  // namespace kolo::fuzz
