// A pair of IDX files, plain or gzipped.
//
// Input: a byte of flags (below), a little-endian u16 that says how many bytes of the rest are the images
// file, those bytes, the labels file.  kGzip...: the target compresses the file itself, so that edits fall on
// what is inside and not on the checksum; without it a file may still be a gzip stream of the input's own.
// kFit: the labels' dimension is made that of the images, and a file whose dimensions give up to kLargestFit
// bytes is made as long as they say, so that an edited header still opens.
#include <zlib.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/data_set.hpp"
#include "fuzz/memory_file.hpp"
#include "kolo/data/idx.hpp"

namespace kolo::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

constexpr unsigned kGzipImages = 1;
constexpr unsigned kGzipLabels = 2;
constexpr unsigned kFit = 4;
constexpr std::size_t kLargestFit = 4096;

bool is_gzip(const Bytes& file) {
  return file.size() > 1 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

std::size_t header_bytes(const Bytes& file) {
  return 4 + 4 * (file.size() > 3 ? std::to_integer<std::size_t>(file[3]) : 0);
}

std::size_t dimension(const Bytes& file, std::size_t i) {
  std::size_t value = 0;
  for (std::size_t k = 4 + 4 * i; k < 8 + 4 * i; ++k)
    value = value << 8 | std::to_integer<std::size_t>(file[k]);
  return value;
}

/// The product of the header's dimensions, when the file has them all and it is small enough.
std::optional<std::size_t> payload_bytes(const Bytes& file) {
  const std::size_t header = header_bytes(file);
  if (header > file.size()) return std::nullopt;
  std::size_t product = 1;
  for (std::size_t i = 0; 8 + 4 * i <= header; ++i) {
    const std::size_t factor = dimension(file, i);
    if (factor > kLargestFit || (product *= factor) > kLargestFit) return std::nullopt;
  }
  return product;
}

void fit(Bytes& file) {
  if (const auto payload = payload_bytes(file)) file.resize(header_bytes(file) + *payload, std::byte{3});
}

Bytes gzip(const Bytes& file) {
  constexpr int kGzipFormat = 15 + 16;
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "deflateInit2");
  Bytes out(deflateBound(&stream, static_cast<uLong>(file.size())));
  Bytes in = file;  // zlib's pointer to what it reads is not const
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Pair {
  unsigned flags = 0;
  Bytes images, labels;
};

Pair split(std::span<const std::byte> input) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(input[i]); };
  Pair pair;
  pair.flags = static_cast<unsigned>(byte(0));
  const std::span<const std::byte> rest = input.subspan(3);
  const std::size_t cut = std::min(byte(1) | byte(2) << 8, rest.size());
  pair.images.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut));
  pair.labels.assign(rest.begin() + static_cast<std::ptrdiff_t>(cut), rest.end());
  if ((pair.flags & kFit) != 0) {
    if (pair.images.size() >= 8 && pair.labels.size() >= 8) {
      std::copy_n(pair.images.begin() + 4, 4, pair.labels.begin() + 4);
    }
    fit(pair.images);
    fit(pair.labels);
  }
  return pair;
}

void require_content(const data::Dataset& set, const Pair& pair) {
  if (!is_gzip(pair.images)) {
    require_pixels(set, pair.images, header_bytes(pair.images),
                   static_cast<std::size_t>(set.shape().numel()));
  }
  if (is_gzip(pair.labels)) return;
  require(static_cast<std::size_t>(set.size()) + 8 == pair.labels.size(), "one label for each byte");
  for (std::int64_t i = 0; i < set.size(); ++i) {
    require(set.label(i) == std::to_integer<std::int64_t>(pair.labels[8 + static_cast<std::size_t>(i)]),
            "labels are those of the file");
  }
}

}  // namespace
}  // namespace kolo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace kolo;
  if (size < 3) return 0;
  const fuzz::Pair pair = fuzz::split(std::as_bytes(std::span(bytes, size)));
  const fuzz::MemoryFile images((pair.flags & fuzz::kGzipImages) != 0 ? fuzz::gzip(pair.images)
                                                                      : pair.images);
  const fuzz::MemoryFile labels((pair.flags & fuzz::kGzipLabels) != 0 ? fuzz::gzip(pair.labels)
                                                                      : pair.labels);
  data::Dataset set;
  const bool opens = fuzz::accepts<DataError>([&] {
    set = data::read_source(data::open_idx({images.path(), labels.path()}));
  });
  if (!opens) return 0;
  fuzz::read_everything(set);
  fuzz::require_content(set, pair);
  return 0;
}
