#include "kolo/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kolo/config/config.hpp"
#include "kolo/data/source.hpp"
#include "kolo/data/split.hpp"
#include "kolo/data/synthetic.hpp"
#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

using test::expect_data_error;

struct Arrays {
  std::vector<std::byte> pixels;
  std::vector<std::int64_t> labels;
};

DatasetContents contents_of(std::vector<std::int64_t> labels) {
  auto owner = std::make_shared<Arrays>();
  owner->pixels.resize(labels.size() * 6);
  for (std::size_t i = 0; i < owner->pixels.size(); ++i)
    owner->pixels[i] = static_cast<std::byte>(i);
  owner->labels = std::move(labels);
  DatasetContents contents;
  contents.shape = {1, 2, 3};
  contents.description = "somewhere";
  contents.pixels = {{owner->pixels.data(), static_cast<std::int64_t>(owner->labels.size()), 6}};
  contents.labels = owner->labels;
  contents.owner = owner;
  return contents;
}

TEST(Dataset, CountsClassesByTheGreatestLabel) {
  EXPECT_EQ(Dataset(contents_of({0, 5, 2})).num_classes(), 6);
}

TEST(Dataset, OutlivesWhatItWasMadeFrom) {
  Dataset copy;
  {
    const Dataset set(contents_of({0, 1}));
    copy = set;
  }
  EXPECT_EQ(std::to_integer<int>(copy.image(1)[5]), 11);
}

TEST(Dataset, ANegativeLabelIsAnError) {
  expect_data_error([] { Dataset(contents_of({0, 1, -1})); }, {"somewhere", "label -1 of sample 2"});
}

TEST(Dataset, ALabelBeyondTheClassesIsAnError) {
  DatasetContents contents = contents_of({0, 3});
  contents.num_classes = 3;
  expect_data_error([&] { Dataset{contents}; }, {"label 3 of sample 1", "0..2", "3 classes"});
}

TEST(Dataset, AnAbsurdLabelIsAnError) {
  expect_data_error(
      [] {
        Dataset(contents_of({0, std::int64_t{1} << 40}));
      },
      {"label 1099511627776 of sample 1"});
}

TEST(Dataset, NoSamplesAreAnError) {
  expect_data_error([] { Dataset(contents_of({})); }, {"somewhere", "empty"});
}

TEST(Dataset, DifferentCountsAreAnError) {
  DatasetContents contents = contents_of({0, 1, 2});
  contents.pixels.front().count = 2;
  expect_data_error([&] { Dataset{contents}; }, {"2 images but 3 labels"});
}

TEST(Dataset, AViewShowsTheChosenSamplesAlsoThroughAnotherView) {
  const Dataset set(contents_of({4, 3, 2, 1, 0}));
  const Dataset view = set.view({4, 2, 0}, "some").view({2, 1}, "fewer");
  ASSERT_EQ(view.size(), 2);
  EXPECT_EQ(view.label(0), 4);
  EXPECT_EQ(view.label(1), 2);
  EXPECT_EQ(view.image(1), set.image(2));
  EXPECT_EQ(view.description(), "fewer");
}

TEST(Dataset, TheFingerprintSeesLabelsPixelsAndShape) {
  const std::uint64_t before = Dataset(contents_of({0, 1, 2})).fingerprint();
  EXPECT_EQ(Dataset(contents_of({0, 1, 2})).fingerprint(), before);
  EXPECT_NE(Dataset(contents_of({0, 2, 2})).fingerprint(), before);
  DatasetContents shape = contents_of({0, 1, 2});
  shape.shape = {1, 3, 2};
  EXPECT_NE(Dataset(shape).fingerprint(), before);
  DatasetContents pixels = contents_of({0, 1, 2});
  const std::vector<std::byte> black(18);
  pixels.pixels.front().first = black.data();
  EXPECT_NE(Dataset(pixels).fingerprint(), before);
}

Dataset numbered(std::int64_t size) {
  std::vector<std::int64_t> labels(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int64_t>(i);
  return Dataset(contents_of(labels));
}

std::vector<std::int64_t> labels_of(const Dataset& set) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < set.size(); ++i)
    labels.push_back(set.label(i));
  return labels;
}

TEST(Split, IsDisjointCompleteAndOfTheAskedSize) {
  const auto [train, val] = split_validation(numbered(101), 0.29, 7);
  ASSERT_EQ(val.size(), 29);
  ASSERT_EQ(train.size(), 72);
  std::vector<std::int64_t> all = labels_of(train);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  std::ranges::copy(labels_of(val), std::back_inserter(all));
  std::ranges::sort(all);
  EXPECT_EQ(all, labels_of(numbered(101)));
}

TEST(Split, DecimalFractionsOfWholeNumbersAreExact) {
  for (std::int64_t percent = 1; percent < 100; ++percent) {
    EXPECT_EQ(split_validation(numbered(100), static_cast<double>(percent) / 100, 1).val.size(), percent);
  }
}

TEST(Split, DependsOnTheSeedAlone) {
  EXPECT_EQ(labels_of(split_validation(numbered(50), 0.2, 3).val),
            labels_of(split_validation(numbered(50), 0.2, 3).val));
  EXPECT_NE(labels_of(split_validation(numbered(50), 0.2, 3).val),
            labels_of(split_validation(numbered(50), 0.2, 4).val));
}

TEST(Split, NoValidationSampleIsAnError) {
  expect_data_error([] { split_validation(numbered(9), 0.1, 1); }, {"data.val_fraction = 0.1", "0 of the 9"});
}

TEST(Split, NoTrainingSampleIsAnError) {
  expect_data_error([] { split_validation(numbered(9), 1.0, 1); }, {"9 of the 9", "1 left for training"});
}

SyntheticOptions small(std::int64_t samples, std::uint64_t seed = 1, Part part = Part::train) {
  return {seed, part, samples, {3, 7, 5}, 4};
}

bool same_image(const Dataset& a, const Dataset& b, std::int64_t i) {
  return std::memcmp(a.image(i), b.image(i), static_cast<std::size_t>(a.shape().numel()) * 4) == 0;
}

TEST(Synthetic, ASampleDoesNotDependOnTheSizeOfTheSet) {
  const Dataset few = read_source(make_synthetic(small(6)));
  const Dataset many = read_source(make_synthetic(small(41)));
  EXPECT_EQ(many.num_classes(), 4);
  for (std::int64_t i = 0; i < few.size(); ++i) {
    EXPECT_TRUE(same_image(few, many, i)) << i;
    EXPECT_EQ(few.label(i), many.label(i));
  }
}

TEST(Synthetic, SeedsPartsAndSamplesDiffer) {
  const Dataset set = read_source(make_synthetic(small(6)));
  EXPECT_FALSE(same_image(set, read_source(make_synthetic(small(6, 2))), 0));
  EXPECT_FALSE(same_image(set, read_source(make_synthetic(small(6, 1, Part::test))), 0));
  EXPECT_NE(std::memcmp(set.image(0), set.image(4), 3 * 7 * 5 * 4), 0);
}

// A nearest-mean classifier fitted to training samples tells test samples apart: the classes can be learnt.
TEST(Synthetic, ClassesCanBeTold) {
  const Dataset train = read_source(make_synthetic({5, Part::train, 400, {1, 12, 12}, 4}));
  const Dataset held_out = read_source(make_synthetic({5, Part::test, 100, {1, 12, 12}, 4}));
  const auto pixel = [](const Dataset& set, std::int64_t i, std::size_t p) {
    return double{reinterpret_cast<const float*>(set.image(i))[p]};
  };
  std::vector<std::vector<double>> mean(4, std::vector<double>(144));
  for (std::int64_t i = 0; i < 400; ++i) {
    for (std::size_t p = 0; p < 144; ++p)
      mean[static_cast<std::size_t>(train.label(i))][p] += pixel(train, i, p) / 100;
  }
  int correct = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    std::vector<double> distance(4);
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t p = 0; p < 144; ++p)
        distance[c] += std::pow(pixel(held_out, i, p) - mean[c][p], 2);
    }
    correct += std::ranges::min_element(distance) - distance.begin() == held_out.label(i) ? 1 : 0;
  }
  EXPECT_GE(correct, 95);
}

TEST(Synthetic, SizesThatAreNotPositiveOrOverflowAreErrors) {
  expect_data_error([] { make_synthetic(small(0)); }, {"synthetic", "0 samples"});
  expect_data_error([] { make_synthetic({1, Part::train, 1, {1, 0, 5}, 2}); }, {"1x0x5"});
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  expect_data_error(
      [] {
        make_synthetic({1, Part::train, kHuge, {1, kHuge, kHuge}, 2});
      },
      {"fits in memory"});
}

TEST(Source, AnEmptyPathIsAConfigError) {
  config::DataSection section;
  section.format = config::DataFormat::cifar10;
  EXPECT_THROW(open_source(section, 1, Part::train), ConfigError);
}

TEST(Source, AFolderWithoutTheFilesNamesThem) {
  const test::TempDir dir;
  config::DataSection section;
  section.path = dir.path();
  section.format = config::DataFormat::idx;
  expect_data_error([&] { open_source(section, 1, Part::train); },
                    {"train-images-idx3-ubyte", "training set"});
  section.format = config::DataFormat::cifar100;
  expect_data_error([&] { open_source(section, 1, Part::train); }, {"train.bin"});
}

TEST(Source, ANamedTestSetMustExistAndAnUnnamedOneNeedNot) {
  const test::TempDir dir;
  const test::TempDir other;
  test::write_idx_set(dir.path(), "train", 5, 2);
  config::DataSection section;
  section.format = config::DataFormat::idx;
  section.path = dir.path();
  EXPECT_FALSE(open_source(section, 1, Part::test));
  section.test_path = other.path();
  expect_data_error([&] { open_source(section, 1, Part::test); },
                    {other.path().string(), "t10k-images-idx3-ubyte"});
  test::write_idx_set(other.path(), "t10k", 3, 2);
  EXPECT_EQ(read_source(*open_source(section, 1, Part::test)).size(), 3);
}

TEST(Source, ATrainingFileFindsTheTestSetInItsFolder) {
  const test::TempDir dir;
  test::write_idx_set(dir.path(), "train", 5, 2);
  test::write_idx_set(dir.path(), "t10k", 3, 2);
  config::DataSection section;
  section.format = config::DataFormat::idx;
  section.path = dir / "train-images-idx3-ubyte";
  EXPECT_EQ(read_source(*open_source(section, 1, Part::train)).size(), 5);
  EXPECT_EQ(read_source(*open_source(section, 1, Part::test)).size(), 3);
}

}  // namespace
}  // namespace kolo::data
