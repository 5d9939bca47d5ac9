#include "kolo/app/best_checkpoint.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace kolo::app {
namespace {

bool any(std::int64_t) { return true; }

const io::MetricTable kMetrics{{"epoch", "step", "train_loss", "val_top1"},
                               {{1, 10, 3, 0.2}, {2, 20, 2, 0.5}, {3, 30, 2, 0.5}, {4, 40, 1, 0.4}}};

TEST(BestEpoch, IsTheFirstOfTheHighest) {
  const BestEpoch best = best_epoch(kMetrics, 40, any);
  EXPECT_EQ(best.epoch, 2);
  EXPECT_EQ(best.step, 20);
  EXPECT_EQ(best.val_top1, 0.5);
}

TEST(BestEpoch, OfAnEarlierTimeKnowsNothingOfLaterOnes) {
  EXPECT_EQ(best_epoch(kMetrics, 19, any).step, 10);
  EXPECT_EQ(best_epoch(kMetrics, 20, any).step, 20);
  EXPECT_EQ(best_epoch(kMetrics, 9, any).step, 0);
}

TEST(BestEpoch, PassesOverWhatDoesNotCount) {
  EXPECT_EQ(best_epoch(kMetrics, 40, [](std::int64_t step) { return step > 30; }).step, 40);
  EXPECT_EQ(best_epoch(kMetrics, 40, [](std::int64_t) { return false; }).step, 0);
}

TEST(BestEpoch, ThereIsNoneWithoutValidation) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(best_epoch({{"epoch", "step", "val_top1"}, {{1, 10, missing}}}, 40, any).step, 0);
  EXPECT_EQ(best_epoch({{"epoch", "step"}, {{1, 10}}}, 40, any).step, 0);
  EXPECT_EQ(best_epoch({}, 40, any).step, 0);
}

}  // namespace
}  // namespace kolo::app
