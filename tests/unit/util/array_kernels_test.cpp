#include "kolo/util/array_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace kolo::util {
namespace {

template <class T>
std::vector<T> random_values(std::size_t n) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  std::vector<T> values(n);
  for (T& value : values)
    value = static_cast<T>(normal(engine));
  return values;
}

template <class T>
class SumOfSquares : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SumOfSquares, ElementTypes);

TYPED_TEST(SumOfSquares, MatchesExtendedPrecisionForOddSizes) {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 1023, 1024, 1025, 5000}) {
    const auto values = random_values<TypeParam>(static_cast<std::size_t>(n));
    long double expected = 0;
    for (const TypeParam value : values)
      expected += static_cast<long double>(value) * value;
    EXPECT_NEAR(sum_of_squares(values.data(), n), static_cast<double>(expected),
                1e-13 * static_cast<double>(expected))
        << n;
  }
}

TYPED_TEST(SumOfSquares, ChainedCallsOfWholeBlocksGiveTheBitsOfOneCall) {
  constexpr std::int64_t n = 5 * kNormBlock + 77;
  const auto values = random_values<TypeParam>(n);
  const double whole = sum_of_squares(values.data(), n);
  for (std::int64_t blocks = 0; blocks <= 5; ++blocks) {
    const std::int64_t cut = blocks * kNormBlock;
    const double first = sum_of_squares(values.data(), cut);
    EXPECT_EQ(sum_of_squares(values.data() + cut, n - cut, first), whole) << blocks;
  }
}

TYPED_TEST(SumOfSquares, DoesNotDependOnAlignment) {
  const auto values = random_values<TypeParam>(3000);
  std::vector<TypeParam> shifted(3017);
  const double expected = sum_of_squares(values.data(), 3000);
  for (std::size_t shift = 0; shift < 17; ++shift) {
    std::copy(values.begin(), values.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(sum_of_squares(shifted.data() + shift, 3000), expected) << shift;
  }
}

TEST(SumOfSquaresFp32, LargeElementsDoNotOverflow) {
  const std::vector<float> values(3, 3e38F);
  EXPECT_NEAR(sum_of_squares(values.data(), 3), 3 * 9e76, 1e70);
}

template <class T>
class CopyChecked : public testing::Test {};
TYPED_TEST_SUITE(CopyChecked, ElementTypes);

constexpr std::int64_t kSizes[] = {0, 1, 15, 16, 17, 2047, 2048, 2049, 10007};

TYPED_TEST(CopyChecked, CopiesEverything) {
  for (const std::int64_t size : kSizes) {
    std::vector<TypeParam> source(static_cast<std::size_t>(size)), target(source.size(), TypeParam{-1});
    std::iota(source.begin(), source.end(), TypeParam{1});
    EXPECT_TRUE(copy_checked(target.data(), source.data(), size, std::numeric_limits<TypeParam>::max()));
    EXPECT_EQ(target, source);
  }
}

TYPED_TEST(CopyChecked, FindsOneBadValueAnywhere) {
  const TypeParam limit = std::numeric_limits<TypeParam>::max() / 4;
  const TypeParam bad[] = {std::numeric_limits<TypeParam>::quiet_NaN(),
                           std::numeric_limits<TypeParam>::infinity(),
                           -std::numeric_limits<TypeParam>::infinity(), limit * 2, -limit * 2};
  for (const std::int64_t size : kSizes) {
    for (std::int64_t at = 0; at < size; at += std::max<std::int64_t>(1, size / 7)) {
      for (const TypeParam value : bad) {
        std::vector<TypeParam> source(static_cast<std::size_t>(size), limit), target(source.size());
        source[static_cast<std::size_t>(at)] = value;
        EXPECT_FALSE(copy_checked(target.data(), source.data(), size, limit)) << size << " at " << at;
      }
    }
  }
}

TYPED_TEST(CopyChecked, CheckAloneFindsTheSame) {
  const TypeParam limit = 3;
  for (const std::int64_t size : kSizes) {
    std::vector<TypeParam> x(static_cast<std::size_t>(size), limit);
    EXPECT_TRUE(all_within(x.data(), size, limit));
    if (size == 0) continue;
    x[static_cast<std::size_t>(size / 2)] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_FALSE(all_within(x.data(), size, limit)) << size;
    x[static_cast<std::size_t>(size / 2)] = -limit * 2;
    EXPECT_FALSE(all_within(x.data(), size, limit)) << size;
  }
}

TYPED_TEST(CopyChecked, TransposeTurnsEveryBlockAndFindsBadValues) {
  for (const auto& [blocks, rows, columns] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 9}, {2, 64, 9}, {1, 3, 49}, {4, 17, 1}, {0, 3, 3}}) {
    auto source = random_values<TypeParam>(static_cast<std::size_t>(blocks * rows * columns));
    std::vector<TypeParam> target(source.size(), TypeParam{-9}), expected(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t block = at / (rows * columns), row = at / columns % rows, column = at % columns;
      expected[static_cast<std::size_t>((block * columns + column) * rows + row)] = source[i];
    }
    EXPECT_TRUE(transpose_checked(target.data(), source.data(), blocks, rows, columns, TypeParam{100}));
    EXPECT_EQ(target, expected);
    if (source.empty()) continue;
    source[source.size() / 2] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_FALSE(transpose_checked(target.data(), source.data(), blocks, rows, columns, TypeParam{100}));
  }
}

TYPED_TEST(CopyChecked, AddIsElementwiseAndMayWorkInPlace) {
  for (const std::int64_t size : kSizes) {
    auto a = random_values<TypeParam>(static_cast<std::size_t>(size));
    const auto b = std::vector<TypeParam>(a.rbegin(), a.rend());
    std::vector<TypeParam> expected(a.size()), sum(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      expected[i] = a[i] + b[i];
    add(sum.data(), a.data(), b.data(), size);
    EXPECT_EQ(sum, expected);
    add(a.data(), a.data(), b.data(), size);
    EXPECT_EQ(a, expected);
  }
}

}  // namespace
}  // namespace kolo::util
