// One IDX file, plain or gzipped: its header, checked against the size of the file, and its payload.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "mapped_file.hpp"

namespace kolo::data {

enum class IdxContent { images, labels };

struct IdxFile {
  std::filesystem::path path;
  std::vector<std::int64_t> dims;         ///< all > 0
  std::int64_t payload = 0;               ///< product of dims, in bytes
  std::shared_ptr<const MappedFile> map;  ///< null when gzipped

  /// Throws DataError; the payload of a gzipped file is only checked by decode().
  static IdxFile open(const std::filesystem::path& path, IdxContent content);
  std::int64_t header_bytes() const { return 4 + 4 * static_cast<std::int64_t>(dims.size()); }
  /// The payload of a plain file.
  std::span<const std::byte> mapped() const;
  /// Copies or inflates the payload; out.size() == payload.
  void decode(std::span<std::byte> out) const;
};

}  // namespace kolo::data
