#include "kolo/data/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <stdexcept>

namespace kolo::data {
namespace {

// kat_vectors of the Random123 distribution, philox4x32 with 10 rounds.
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(philox({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}, 0xffffffffffffffffULL),
            (PhiloxBlock{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, 0x299f31d0a4093822ULL),
            (PhiloxBlock{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(RandomSequence, StreamsAndVariantsDiffer) {
  std::set<std::uint64_t> first;
  for (const Stream stream : {Stream::order, Stream::augment, Stream::split}) {
    for (std::uint64_t variant = 0; variant < 5; ++variant)
      first.insert(RandomSequence(9, stream, variant).next());
  }
  EXPECT_EQ(first.size(), 15U);
}

TEST(RandomSequence, BelowIsUniform) {
  RandomSequence random(1, Stream::order, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i)
    ++counts.at(random.below(7));
  for (const int count : counts)
    EXPECT_NEAR(count, 10'000, 500);  // five standard deviations
}

TEST(RandomSequence, BelowRejectsTheWordsThatWouldBiasALargeRange) {
  // Three quarters of 2^64: without rejection, every third value would come up twice as often as the others.
  constexpr std::uint64_t kRange = std::uint64_t{3} << 62;
  RandomSequence random(1, Stream::order, 0);
  int low = 0;
  for (int i = 0; i < 30'000; ++i)
    low += random.below(kRange) % 3 == 0 ? 1 : 0;
  EXPECT_NEAR(low, 10'000, 500);
}

std::vector<std::int64_t> values(const EpochOrder& order) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < order.size(); ++i)
    all.push_back(order[i]);
  return all;
}

std::vector<std::int64_t> identity(std::int64_t size) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(EpochOrder, IsAPermutationOfEverySize) {
  for (const std::int64_t size : {0, 1, 2, 3, 17, 1000, 10'007}) {
    std::vector<std::int64_t> all = values(EpochOrder(size, 5, 3, Shuffle::on));
    std::ranges::sort(all);
    EXPECT_EQ(all, identity(size));
  }
}

TEST(EpochOrder, IsAFunctionOfSeedAndEpoch) {
  const auto order = values(EpochOrder(100, 5, 3, Shuffle::on));
  EXPECT_EQ(values(EpochOrder(100, 5, 3, Shuffle::on)), order);
  EXPECT_NE(values(EpochOrder(100, 5, 4, Shuffle::on)), order);
  EXPECT_NE(values(EpochOrder(100, 6, 3, Shuffle::on)), order);
}

TEST(EpochOrder, EachPermutationOfThreeIsEquallyLikely) {
  std::array<int, 27> counts{};
  for (std::int64_t epoch = 0; epoch < 12'000; ++epoch) {
    const EpochOrder order(3, 1, epoch, Shuffle::on);
    ++counts.at(static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2]));
  }
  for (const int index : {5, 7, 11, 15, 19, 21})
    EXPECT_NEAR(counts.at(static_cast<std::size_t>(index)), 2000, 210);
}

// Guards resumes of old runs: a change of the generator or of the shuffle changes every run's order.
TEST(EpochOrder, StaysWhatItWas) {
  EXPECT_EQ(values(EpochOrder(10, 1, 0, Shuffle::on)),
            (std::vector<std::int64_t>{9, 7, 2, 4, 8, 3, 6, 5, 0, 1}));
}

TEST(EpochOrder, WithoutShuffleIsTheStoredOrder) {
  EXPECT_EQ(values(EpochOrder(9, 5, 3, Shuffle::off)), identity(9));
}

TEST(EpochOrder, APositionOutsideIsAnError) {
  const EpochOrder order(4, 1, 0, Shuffle::off);
  EXPECT_THROW(order[4], std::out_of_range);
  EXPECT_THROW(order[-1], std::out_of_range);
}

}  // namespace
}  // namespace kolo::data
