// A gzip file read from front to back, with zlib's checks turned into DataErrors that name the file.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace kolo::data {

/// Deflate never compresses better than this (zlib's technical details: 1032:1), which bounds what a file can
/// hold.
constexpr std::int64_t kMaxDeflateRatio = 1032;

class GzipFile {
 public:
  /// Throws DataError when the file cannot be opened.
  explicit GzipFile(const std::filesystem::path& path);

  /// Inflates exactly out.size() bytes; throws DataError when the file is damaged or ends before.
  void read(std::span<std::byte> out);
  /// Throws DataError unless everything has been read and the checksum holds.
  void expect_end();

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };
  std::size_t read_some(std::span<std::byte> out);

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::int64_t position_ = 0;
};

}  // namespace kolo::data
