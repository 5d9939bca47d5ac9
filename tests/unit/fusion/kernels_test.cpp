#include "kolo/fusion/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kolo::fusion {
namespace {

template <class T>
class Kernels : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, Types);

constexpr std::int64_t kSizes[] = {0, 1, 15, 16, 17, 2047, 2048, 2049, 10007};

TYPED_TEST(Kernels, CopyCheckedCopiesEverything) {
  for (const std::int64_t size : kSizes) {
    std::vector<TypeParam> source(static_cast<std::size_t>(size)), target(source.size(), TypeParam{-1});
    std::iota(source.begin(), source.end(), TypeParam{1});
    EXPECT_TRUE(copy_checked(target.data(), source.data(), size, std::numeric_limits<TypeParam>::max()));
    EXPECT_EQ(target, source);
  }
}

TYPED_TEST(Kernels, CopyCheckedFindsOneBadValueAnywhere) {
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

TYPED_TEST(Kernels, SumOfSquaresMatchesALongDoubleSum) {
  for (const std::int64_t size : kSizes) {
    std::vector<TypeParam> values(static_cast<std::size_t>(size));
    long double expected = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<TypeParam>(std::sin(static_cast<double>(i)) * 3);
      expected += static_cast<long double>(values[i]) * static_cast<long double>(values[i]);
    }
    EXPECT_NEAR(sum_of_squares(values.data(), size), static_cast<double>(expected),
                1e-13 * std::max(1.0, static_cast<double>(expected)));
  }
}

}  // namespace
}  // namespace kolo::fusion
