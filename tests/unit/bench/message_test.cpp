#include "kolo/bench/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kolo/bench/quantile.hpp"

namespace kolo::test {
namespace {

constexpr int kRanks = 3;
constexpr std::int64_t kElements = 1001;

// What a correct exchange of kRanks contributions gives, and what the check compares it with.
template <class T>
struct Sums {
  std::vector<T> sums = std::vector<T>(kElements);
  std::vector<double> expected = std::vector<double>(kElements);
  std::vector<double> magnitudes = std::vector<double>(kElements);

  Sums() {
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::vector<T> values = bench::contribution_of<T>(rank, kElements);
      for (std::size_t i = 0; i < values.size(); ++i) {
        sums[i] += values[i];
        expected[i] += static_cast<double>(values[i]);
        magnitudes[i] += std::abs(static_cast<double>(values[i]));
      }
    }
  }
  bool match() const { return bench::sums_match<T>(sums, expected, magnitudes, kRanks); }
};

template <class T>
class SumCheck : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SumCheck, Types);

TYPED_TEST(SumCheck, AcceptsSumsRoundedInTheirOwnType) { EXPECT_TRUE(Sums<TypeParam>().match()); }

TYPED_TEST(SumCheck, FindsOneWrongValueWhereverItIs) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{500}, std::size_t{kElements - 1}}) {
    Sums<TypeParam> sums;
    const auto beyond =
        2 * std::numeric_limits<TypeParam>::epsilon() * kRanks * static_cast<TypeParam>(sums.magnitudes[at]);
    sums.sums[at] += beyond;
    EXPECT_FALSE(sums.match()) << at;
  }
}

TYPED_TEST(SumCheck, FindsAMissingContribution) {
  Sums<TypeParam> sums;
  const auto values = bench::contribution_of<TypeParam>(kRanks - 1, kElements);
  std::transform(sums.sums.begin(), sums.sums.end(), values.begin(), sums.sums.begin(), std::minus<>());
  EXPECT_FALSE(sums.match());
}

TYPED_TEST(SumCheck, FindsNotANumberAndInfinity) {
  for (const auto bad :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    Sums<TypeParam> sums;
    sums.sums[7] = bad;
    EXPECT_FALSE(sums.match()) << bad;
  }
}

TYPED_TEST(SumCheck, ContributionsDifferByRankAndElementAndHaveBothSigns) {
  std::set<TypeParam> seen;
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto values = bench::contribution_of<TypeParam>(rank, kElements);
    seen.insert(values.begin(), values.end());
    const auto negative = std::count_if(values.begin(), values.end(), [](TypeParam x) { return x < 0; });
    EXPECT_GT(negative, kElements / 4);
    EXPECT_LT(negative, kElements * 3 / 4);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kRanks * kElements));
}

TEST(MessagePlan, PutsElementsInOrderWithoutGaps) {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const std::int64_t elements : {1, 17, 262'144, 262'145, 20'000'003}) {
      const fusion::BucketPlan plan = bench::plan_message(elements, type);
      std::int64_t next = 0;
      for (const fusion::Slot& slot : plan.slots) {
        EXPECT_EQ(slot.begin, next);
        next = slot.end();
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(Quantile, IsAnOrderStatistic) {
  EXPECT_EQ(bench::median({3, 1, 2}), 2);
  EXPECT_EQ(bench::quantile({5, 1, 4, 2, 3}, 1), 5);
  EXPECT_EQ(bench::quantile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(bench::median({7}), 7);
  EXPECT_EQ(bench::median({}), 0);
}

}  // namespace
}  // namespace kolo::test
