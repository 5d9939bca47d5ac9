#include "kolo/io/hdf5_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "kolo/io/hdf5_values.hpp"

namespace kolo::io::test {
namespace {

/// A file in memory with one array of `bytes` bytes.
Hdf5File file_with(std::size_t bytes, std::size_t expected, std::size_t user_block) {
  Hdf5File file = create_memory_file(expected, user_block);
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 7);
  write_array(file.id(), "a", DType::u8, std::vector<std::int64_t>{static_cast<std::int64_t>(bytes)}, data);
  return file;
}

// HDF5's own way to take an image out makes a copy: the oracle for the one without.
TEST(Hdf5Image, IsWhatHdf5CopiesOut) {
  for (const std::size_t user_block : {0, 512})
    for (const std::size_t bytes : {1, 5000, 70'000, 3'000'000})
      for (const std::size_t expected : {0, 4'000'000}) {
        std::vector<std::byte> copy;
        Hdf5File file;
        {
          const Hdf5Lock lock;
          file = file_with(bytes, expected, user_block);
          check_hdf5(H5Fflush(file.id(), H5F_SCOPE_GLOBAL), "flush");
          copy.resize(static_cast<std::size_t>(H5Fget_file_image(file.id(), nullptr, 0)));
          ASSERT_GT(H5Fget_file_image(file.id(), copy.data(), copy.size()), 0);
        }
        std::optional<Hdf5Image> image;
        {
          const Hdf5Lock lock;
          image.emplace(std::move(file));
        }
        EXPECT_TRUE(std::ranges::equal(image->bytes(), copy))
            << bytes << ' ' << expected << ' ' << user_block;
      }
}

}  // namespace
}  // namespace kolo::io::test
