#include "kolo/data/idx.hpp"

#include <string>
#include <vector>

#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

using test::expect_data_error;
using test::idx_bytes;
using test::pattern;
using test::write_file;
using test::write_gzip;

Dataset read_train(const std::filesystem::path& path) {
  return read_source(open_idx(*find_idx(path, Part::train)));
}

class Idx : public testing::Test {
 protected:
  void SetUp() override { test::write_idx_set(dir_.path(), "train", 7, 4); }
  std::filesystem::path images() const { return dir_ / "train-images-idx3-ubyte"; }
  std::filesystem::path labels() const { return dir_ / "train-labels-idx1-ubyte"; }
  void expect_error(std::initializer_list<std::string> words) const {
    expect_data_error([&] { read_train(dir_.path()); }, words);
  }
  test::TempDir dir_;
};

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.shape(), b.shape());
}

TEST_F(Idx, PlainFilesGiveTheStoredPixelsAndLabels) {
  const Dataset set = read_train(dir_.path());
  ASSERT_EQ(set.size(), 7);
  EXPECT_EQ(set.shape(), (ImageShape{1, 5, 3}));
  EXPECT_EQ(set.num_classes(), 4);
  EXPECT_EQ(set.pixel_type(), PixelType::u8);
  EXPECT_TRUE(set.class_names().empty());
  const std::string stored = pattern(7 * 15);
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(set.label(i), i % 4);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(set.image(i)), 15),
              stored.substr(static_cast<std::size_t>(i) * 15, 15));
  }
}

TEST_F(Idx, GzippedFilesEqualPlainOnes) {
  const test::TempDir other;
  write_gzip(other / "train-images-idx3-ubyte.gz", test::read_file(images()));
  write_gzip(other / "train-labels-idx1-ubyte.gz", test::read_file(labels()));
  expect_same(read_train(other.path()), read_train(dir_.path()));
}

TEST_F(Idx, OneGzippedFileOfTwoIsEnoughToDecode) {
  const test::TempDir other;
  write_file(other / "train-images-idx3-ubyte", test::read_file(images()));
  write_gzip(other / "train-labels-idx1-ubyte.gz", test::read_file(labels()));
  expect_same(read_train(other.path()), read_train(dir_.path()));
}

TEST_F(Idx, AnImagesFileFindsItsLabels) { expect_same(read_train(images()), read_train(dir_.path())); }

TEST_F(Idx, FourDimensionsAreChannelsFirst) {
  write_file(images(), idx_bytes({7, 3, 5, 1}, pattern(7 * 15)));
  EXPECT_EQ(read_train(dir_.path()).shape(), (ImageShape{3, 5, 1}));
}

TEST_F(Idx, AMissingTestSetIsNothing) { EXPECT_FALSE(find_idx(dir_.path(), Part::test)); }

TEST_F(Idx, HalfATestSetIsAnError) {
  write_file(dir_ / "t10k-images-idx3-ubyte", "x");
  expect_data_error([&] { find_idx(dir_.path(), Part::test); },
                    {"t10k-images-idx3-ubyte is there", "t10k-labels-idx1-ubyte"});
}

TEST_F(Idx, AMissingFolderNamesWhatWasLookedFor) {
  expect_data_error([&] { find_idx(dir_ / "absent", Part::train); },
                    {"absent", "no such file or folder", "train-images-idx3-ubyte"});
}

TEST_F(Idx, AnImagesFileWithoutLabelsIsAnError) {
  std::filesystem::remove(labels());
  expect_data_error([&] { read_train(images()); }, {"no labels beside it", "train-labels-idx1-ubyte"});
}

TEST_F(Idx, AFileWhoseNameDoesNotSayImagesIsAnError) {
  write_file(dir_ / "pictures", "x");
  expect_data_error([&] { read_train(dir_ / "pictures"); }, {"pictures", "\"images\""});
}

TEST_F(Idx, WrongImagesMagicIsAnError) {
  write_file(images(), std::string("\0\0\x0d\x03", 4) + pattern(100));
  expect_error({"train-images", "00 00 0d 03", "00 00 08 03"});
}

TEST_F(Idx, ImagesInPlaceOfLabelsAreAnError) {
  write_file(labels(), test::read_file(images()));
  expect_error({"train-labels", "00 00 08 03", "00 00 08 01"});
}

TEST_F(Idx, AFileShorterThanItsHeaderIsAnError) {
  write_file(images(), std::string("\0\0\x08", 3));
  expect_error({"3 bytes found, 4 expected"});
  write_file(images(), std::string("\0\0\x08\x03\0\0", 6));
  expect_error({"6 bytes found, 16 expected"});
}

TEST_F(Idx, ATruncatedFileSaysFoundAndExpected) {
  write_file(images(), idx_bytes({7, 5, 3}, pattern(7 * 15 - 1)));
  expect_error({"truncated", "120 bytes found, 121 expected"});
}

TEST_F(Idx, TrailingBytesAreAnError) {
  write_file(labels(), test::read_file(labels()) + "x");
  expect_error({"train-labels", "trailing bytes", "16 bytes found, 15 expected"});
}

TEST_F(Idx, AnEmptyFileIsAnError) {
  write_file(images(), "");
  expect_error({"train-images", "empty"});
}

TEST_F(Idx, AFolderInPlaceOfAFileIsAnError) {
  std::filesystem::remove(images());
  std::filesystem::create_directory(images());
  expect_error({"train-labels-idx1-ubyte is there, but none of"});
}

TEST_F(Idx, DimensionsOfZeroAreAnError) {
  write_file(images(), idx_bytes({7, 0, 3}, ""));
  expect_error({"7 x 0 x 3", "none of them 0"});
  write_file(images(), idx_bytes({0, 5, 3}, ""));
  expect_error({"0 x 5 x 3"});
}

TEST_F(Idx, DimensionsBeyond64BitsAreAnError) {
  write_file(images(), idx_bytes({0xffffffffU, 0xffffffffU, 0xffffffffU}, "x"));
  expect_error({"4294967295 x 4294967295 x 4294967295", "fits in memory"});
}

// 7 x 859764727 x 1532540863 = 2^63 - 1, to which the header's size cannot be added in 64 signed bits.
TEST_F(Idx, TheLargestProductOf64BitsIsATruncatedFile) {
  write_file(images(), idx_bytes({7, 859764727, 1532540863}, "x"));
  expect_error({"truncated", "17 bytes found, 9223372036854775823 expected"});
}

TEST_F(Idx, DifferentCountsOfImagesAndLabelsAreAnError) {
  write_file(labels(), idx_bytes({6}, test::cyclic_labels(6, 4)));
  expect_error({"7 images", "6 labels"});
}

TEST_F(Idx, TestLabelsBeyondTheTrainingClassesAreAnError) {
  test::write_idx_set(dir_.path(), "t10k", 7, 6);
  const Source source = open_idx(*find_idx(dir_.path(), Part::test));
  expect_data_error([&] { read_source(source, 4); }, {"label 4 of sample 4", "0..3", "4 classes"});
}

class GzippedIdx : public Idx {
 protected:
  void SetUp() override {
    Idx::SetUp();
    whole_ = test::read_file(images());
    std::filesystem::remove(images());
    write_gzip(gzip(), whole_);
  }
  std::filesystem::path gzip() const { return dir_ / "train-images-idx3-ubyte.gz"; }
  std::string whole_;
};

TEST_F(GzippedIdx, DamageInTheMiddleIsAnError) {
  std::string bytes = test::read_file(gzip());
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 8; ++i)
    bytes[i] = static_cast<char>(~bytes[i]);
  write_file(gzip(), bytes);
  expect_error({"train-images-idx3-ubyte.gz", "gzip"});
}

TEST_F(GzippedIdx, AWrongChecksumIsAnError) {
  std::string bytes = test::read_file(gzip());
  bytes[bytes.size() - 8] = static_cast<char>(~bytes[bytes.size() - 8]);
  write_file(gzip(), bytes);
  expect_error({"damaged gzip file"});
}

TEST_F(GzippedIdx, EveryTruncationIsAnError) {
  const std::string bytes = test::read_file(gzip());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    write_file(gzip(), bytes.substr(0, length));
    expect_error({"train-images-idx3-ubyte.gz"});
  }
}

TEST_F(GzippedIdx, LessThanTheHeaderPromisesIsAnError) {
  write_gzip(gzip(), whole_.substr(0, whole_.size() - 2));
  expect_error({"truncated", "119 bytes found, 121 expected"});
}

TEST_F(GzippedIdx, MoreThanTheHeaderPromisesIsAnError) {
  write_gzip(gzip(), whole_ + "x");
  expect_error({"trailing bytes", "121"});
}

TEST_F(GzippedIdx, AHeaderBeyondWhatTheFileCanHoldIsAnErrorBeforeAnyAllocation) {
  write_file(labels(), idx_bytes({100000}, test::cyclic_labels(100000, 4)));
  write_gzip(gzip(), idx_bytes({100000, 60000, 60000}, "x"));
  expect_data_error([&] { open_idx(*find_idx(dir_.path(), Part::train)); },
                    {"cannot hold", "360000000000000 bytes expected"});
}

}  // namespace
}  // namespace kolo::data
