#include "gzip_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kolo/util/error.hpp"

namespace kolo::data {

GzipFile::GzipFile(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
  if (!file_)
    throw DataError(fmt::format("{}: cannot open the file: {}", path.string(), std::strerror(errno)));
  gzbuffer(file_.get(), 1 << 18);
}

std::size_t GzipFile::read_some(std::span<std::byte> out) {
  constexpr std::size_t kPiece = 1 << 30;  // gzread counts in int
  const int got = gzread(file_.get(), out.data(), static_cast<unsigned>(std::min(out.size(), kPiece)));
  int code = Z_OK;
  const char* text = gzerror(file_.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)) {
    throw DataError(
        fmt::format("{}: damaged gzip file after {} inflated bytes: {}", path_.string(), position_, text),
        "Fetch or copy the file again; gzip -t shows whether it is whole.");
  }
  position_ += got;
  if (code == Z_BUF_ERROR) {
    throw DataError(
        fmt::format("{}: truncated gzip file: it ends after {} inflated bytes", path_.string(), position_),
        "Fetch or copy the file again; gzip -t shows whether it is whole.");
  }
  return static_cast<std::size_t>(got);
}

void GzipFile::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const std::size_t got = read_some(out);
    if (got == 0) {
      throw DataError(fmt::format("{}: truncated: {} bytes found, {} expected (inflated)", path_.string(),
                                  position_, position_ + static_cast<std::int64_t>(out.size())));
    }
    out = out.subspan(got);
  }
}

void GzipFile::expect_end() {
  std::byte more{};
  const std::int64_t expected = position_;
  if (read_some({&more, 1}) != 0) {
    throw DataError(fmt::format("{}: trailing bytes: more than the expected {} bytes found (inflated)",
                                path_.string(), expected));
  }
}

}  // namespace kolo::data
