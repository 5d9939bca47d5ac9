// A whole file mapped read-only: pages are read when they are touched, and all ranks of a node share them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace kolo::data {

class MappedFile {
 public:
  /// Throws DataError when the file is missing, not a regular file, empty or unreadable.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace kolo::data
