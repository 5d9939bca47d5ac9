// Bytes of small data files, right or wrong on purpose, and the check that reading a wrong one gives one
// DataError.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "kolo/util/error.hpp"
#include "support/temp_dir.hpp"

namespace kolo::test {

inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift & 255U);
  return bytes;
}

/// Magic of unsigned bytes, the dimensions, then `payload`.
inline std::string idx_bytes(std::initializer_list<std::uint32_t> dims, const std::string& payload) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims)
    bytes += big_endian(dim);
  return bytes + payload;
}

/// Bytes that differ from their neighbours: (7 i + 3) mod 256.
inline std::string pattern(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>((7 * i + 3) % 256);
  return bytes;
}

/// 0, 1, .. classes-1, 0, 1, ..
inline std::string cyclic_labels(std::size_t count, std::size_t classes) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(i % classes);
  return bytes;
}

inline void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  const int written = gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  if (gzclose(file) != Z_OK || written != static_cast<int>(bytes.size())) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

/// A good set of `count` 1 x 5 x 3 images in `classes` classes; `prefix` is train or t10k.
inline void write_idx_set(const std::filesystem::path& folder, const std::string& prefix, std::uint32_t count,
                          std::size_t classes) {
  write_file(folder / (prefix + "-images-idx3-ubyte"),
             idx_bytes({count, 5, 3}, pattern(count * std::size_t{15})));
  write_file(folder / (prefix + "-labels-idx1-ubyte"), idx_bytes({count}, cyclic_labels(count, classes)));
}

/// `count` CIFAR records: `label_bytes` - 1 zeros, the label i mod classes, then 3072 bytes of which the
/// first is i.
inline std::string cifar_bytes(std::size_t count, std::size_t label_bytes, std::size_t classes) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += std::string(label_bytes - 1, '\0') + static_cast<char>(i % classes);
    std::string pixels = pattern(3072);
    pixels[0] = static_cast<char>(i);
    bytes += pixels;
  }
  return bytes;
}

/// Runs `action` and expects a DataError whose message has all of `words`.
template <class F>
void expect_data_error(F&& action, std::initializer_list<std::string> words) {
  try {
    action();
    ADD_FAILURE() << "no DataError";
  } catch (const DataError& error) {
    for (const std::string& word : words)
      EXPECT_THAT(error.what(), testing::HasSubstr(word));
  }
}

}  // namespace kolo::test
