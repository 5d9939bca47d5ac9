// Where a set's samples come from, before anyone has decided which memory holds them.
//
// Plain files are used as they lie on disk: a reader maps them and hands over finished DatasetContents, on
// every rank. Compressed, HDF5 and synthetic sets have to be decoded: a reader hands over what the headers
// say and a function that fills memory of that size, so that one rank of a node can decode straight into
// memory the whole node shares.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "kolo/config/config.hpp"
#include "kolo/data/dataset.hpp"

namespace kolo::data {

enum class Part { train, test };

struct DecodedSource {
  DatasetContents header;  ///< without pixels, labels and owner
  std::int64_t size = 0;   ///< samples, > 0
  /// Fills all pixels (pixel_bytes() bytes, aligned for their type) and all labels (size).  Throws DataError.
  std::function<void(std::span<std::byte> pixels, std::span<std::int64_t> labels)> decode;

  std::int64_t pixel_bytes() const {
    return size * header.shape.numel() * bytes_per_pixel(header.pixel_type);
  }
};

using Source = std::variant<DatasetContents, DecodedSource>;

/// The product of sizes >= 0, or nothing when it does not fit: headers of damaged files ask for anything.
std::optional<std::int64_t> checked_product(std::initializer_list<std::int64_t> factors);

/// Finds the files of one part and reads their headers (mapped sets: their labels too).  Nothing when there
/// is no test set beside the training set; a test set that data.test_path names must exist.  Throws DataError
/// for missing or bad files, ConfigError when data.path is needed and empty.
std::optional<Source> open_source(const config::DataSection& section, std::int64_t seed, Part part);

/// The header of `source` over pixels and labels that someone else filled and `owner` keeps (null: someone
/// else does).
DatasetContents with_storage(const DecodedSource& source, std::span<const std::byte> pixels,
                             std::span<const std::int64_t> labels, std::shared_ptr<const void> owner);

/// Decodes into memory of this process where needed.  `num_classes` 0: as the format says.
Dataset read_source(Source source, std::int64_t num_classes = 0);

}  // namespace kolo::data
