// The sets of tests/data, which make_sets.py wrote with numpy and h5py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kolo/config/config.hpp"
#include "kolo/data/source.hpp"

namespace kolo::data {
namespace {

using config::DataFormat;

const std::filesystem::path kFolder = std::filesystem::path(KOLO_SOURCE_DIR) / "tests" / "data";

double stored_value(const Dataset& set, std::int64_t i, std::int64_t at) {
  if (set.pixel_type() == PixelType::u8) return std::to_integer<int>(set.image(i)[at]);
  return double{reinterpret_cast<const float*>(set.image(i))[at]} * 255.0;
}

void expect_part(const config::DataSection& section, Part part, const ImageShape& shape,
                 std::int64_t label_classes) {
  const Dataset set = read_source(*open_source(section, 1, part));
  const std::int64_t s = part == Part::test ? 1 : 0;
  ASSERT_EQ(set.size(), part == Part::test ? 6 : 12);
  ASSERT_EQ(set.shape(), shape);
  for (std::int64_t i = 0; i < set.size(); ++i) {
    EXPECT_EQ(set.label(i), (3 * i + s) % label_classes);
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      for (std::int64_t y = 0; y < shape.height; ++y) {
        for (std::int64_t x = 0; x < shape.width; ++x, ++at) {
          const auto expected = static_cast<double>((31 * i + 17 * c + 5 * y + 3 * x + s) % 256);
          ASSERT_NEAR(stored_value(set, i, at), expected, 1e-4) << i << ": " << c << ", " << y << ", " << x;
        }
      }
    }
  }
}

void expect_set(DataFormat format, const char* name, const ImageShape& shape, std::int64_t label_classes) {
  config::DataSection section;
  section.format = format;
  section.path = kFolder / name;
  expect_part(section, Part::train, shape, label_classes);
  expect_part(section, Part::test, shape, label_classes);
}

TEST(GeneratedSets, Idx) { expect_set(DataFormat::idx, "idx", {1, 6, 5}, 4); }
TEST(GeneratedSets, GzippedIdx) { expect_set(DataFormat::idx, "idx_gz", {1, 6, 5}, 4); }
TEST(GeneratedSets, Cifar100) { expect_set(DataFormat::cifar100, "cifar100", {3, 32, 32}, 100); }
TEST(GeneratedSets, Hdf5BytesChannelsFirst) { expect_set(DataFormat::hdf5, "bytes.h5", {3, 6, 5}, 4); }
TEST(GeneratedSets, Hdf5FloatsChannelsLast) { expect_set(DataFormat::hdf5, "floats.h5", {3, 6, 5}, 4); }

TEST(GeneratedSets, H5pyStringsAreClassNames) {
  config::DataSection section;
  section.format = DataFormat::hdf5;
  section.path = kFolder / "bytes.h5";
  EXPECT_THAT(read_source(*open_source(section, 1, Part::train)).class_names(),
              testing::ElementsAre("one", "two", "three", "four"));
}

}  // namespace
}  // namespace kolo::data
