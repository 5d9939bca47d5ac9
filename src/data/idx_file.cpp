#include "idx_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gzip_file.hpp"
#include "kolo/data/source.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

constexpr int kUnsignedByte = 0x08;

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

int at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<int>(bytes[i]); }

// The number of dimensions in the first four bytes.
std::size_t rank_of(std::span<const std::byte> magic, const std::filesystem::path& path, IdxContent content) {
  const int rank = at(magic, 3);
  const bool good_rank = content == IdxContent::labels ? rank == 1 : rank == 3 || rank == 4;
  if (at(magic, 0) != 0 || at(magic, 1) != 0 || at(magic, 2) != kUnsignedByte || !good_rank) {
    throw DataError(
        fmt::format("{}: wrong IDX magic {:02x} {:02x} {:02x} {:02x}: expected {}", path.string(),
                    at(magic, 0), at(magic, 1), at(magic, 2), at(magic, 3),
                    content == IdxContent::labels
                        ? "00 00 08 01 (labels: unsigned bytes, 1 dimension)"
                        : "00 00 08 03 or 00 00 08 04 (images: unsigned bytes, 3 or 4 dimensions)"));
  }
  return static_cast<std::size_t>(rank);
}

void parse_dims(IdxFile& file, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i + 3 < bytes.size(); i += 4) {
    file.dims.push_back(std::int64_t{at(bytes, i)} << 24 | at(bytes, i + 1) << 16 | at(bytes, i + 2) << 8 |
                        at(bytes, i + 3));
  }
  const auto all = [&](std::size_t i) { return i < file.dims.size() ? file.dims[i] : 1; };
  const auto product = checked_product({all(0), all(1), all(2), all(3)});
  if (!product || std::ranges::count(file.dims, 0) != 0) {
    throw DataError(fmt::format("{}: the IDX header gives the dimensions {}: expected {}", file.path.string(),
                                fmt::join(file.dims, " x "),
                                product ? "none of them 0" : "a size that fits in memory"));
  }
  file.payload = *product;
}

void check_plain_size(const IdxFile& file) {
  const std::uint64_t found = file.map->bytes().size();
  // Unsigned: a payload may be as large as a signed number can be, and the header adds to it.
  const std::uint64_t expected =
      static_cast<std::uint64_t>(file.header_bytes()) + static_cast<std::uint64_t>(file.payload);
  if (found == expected) return;
  throw DataError(fmt::format("{}: {}: {} bytes found, {} expected for the dimensions {}", file.path.string(),
                              found < expected ? "truncated IDX file" : "trailing bytes after the IDX data",
                              found, expected, fmt::join(file.dims, " x ")));
}

// Refuses, before any memory is asked for, what no gzip file of this size can hold.
void check_gzip_size(const IdxFile& file, std::int64_t compressed) {
  if (file.payload / kMaxDeflateRatio <= compressed) return;
  throw DataError(
      fmt::format("{}: truncated, or a damaged header: {} compressed bytes found, which cannot hold the "
                  "{} bytes expected for the dimensions {}",
                  file.path.string(), compressed, file.payload, fmt::join(file.dims, " x ")));
}

}  // namespace

IdxFile IdxFile::open(const std::filesystem::path& path, IdxContent content) {
  IdxFile file;
  file.path = path;
  auto map = MappedFile::open(path);
  const std::span<const std::byte> bytes = map->bytes();
  if (is_gzip(bytes)) {
    GzipFile gzip(path);
    std::array<std::byte, 4> magic{};
    gzip.read(magic);
    std::vector<std::byte> dims(4 * rank_of(magic, path, content));
    gzip.read(dims);
    parse_dims(file, dims);
    check_gzip_size(file, static_cast<std::int64_t>(bytes.size()));
    return file;
  }
  const auto need = [&](std::size_t header) {
    if (bytes.size() >= header) return;
    throw DataError(fmt::format("{}: truncated IDX file: {} bytes found, {} expected for the header",
                                path.string(), bytes.size(), header));
  };
  need(4);
  const std::size_t rank = rank_of(bytes, path, content);
  need(4 + 4 * rank);
  parse_dims(file, bytes.subspan(4, 4 * rank));
  file.map = std::move(map);
  check_plain_size(file);
  return file;
}

std::span<const std::byte> IdxFile::mapped() const {
  return map->bytes().subspan(static_cast<std::size_t>(header_bytes()));
}

void IdxFile::decode(std::span<std::byte> out) const {
  if (map) {
    std::ranges::copy(mapped(), out.begin());
    return;
  }
  GzipFile gzip(path);
  std::vector<std::byte> header(static_cast<std::size_t>(header_bytes()));
  gzip.read(header);
  gzip.read(out);
  gzip.expect_end();
}

}  // namespace kolo::data
