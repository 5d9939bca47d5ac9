#include "kolo/optim/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kolo::optim {
namespace {

TEST(ClipScale, IsOneUpToTheLimitAndTheRatioBeyond) {
  EXPECT_EQ(clip_scale(0, 1), 1);
  EXPECT_EQ(clip_scale(0.999, 1), 1);
  EXPECT_DOUBLE_EQ(clip_scale(4, 1), 1 / (4 + 1e-6));
}

TEST(ClipScale, OfAnInfiniteNormIsZeroAndOfNanIsNan) {
  EXPECT_EQ(clip_scale(std::numeric_limits<double>::infinity(), 1), 0);
  EXPECT_TRUE(std::isnan(clip_scale(std::numeric_limits<double>::quiet_NaN(), 1)));
}

}  // namespace
}  // namespace kolo::optim
