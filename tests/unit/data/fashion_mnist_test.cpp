// The real data set, where the distribution's package has put it.
#include <array>
#include <filesystem>

#include "kolo/data/idx.hpp"
#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

const std::filesystem::path kFolder = "/usr/share/datasets/fashion-mnist";

void expect_balanced(Part part, std::int64_t each) {
  if (!std::filesystem::exists(kFolder)) {
    GTEST_SKIP() << kFolder.string() << " is absent (package dataset-fashion-mnist)";
  }
  const Dataset set = read_source(open_idx(*find_idx(kFolder, part)));
  ASSERT_EQ(set.size(), 10 * each);
  EXPECT_EQ(set.shape(), (ImageShape{1, 28, 28}));
  ASSERT_EQ(set.num_classes(), 10);
  std::array<std::int64_t, 10> histogram{};
  for (std::int64_t i = 0; i < set.size(); ++i)
    ++histogram[static_cast<std::size_t>(set.label(i))];
  EXPECT_THAT(histogram, testing::Each(each));
}

TEST(FashionMnist, TrainingSetHas6000ImagesOfEachClass) { expect_balanced(Part::train, 6000); }
TEST(FashionMnist, TestSetHas1000ImagesOfEachClass) { expect_balanced(Part::test, 1000); }

}  // namespace
}  // namespace kolo::data
