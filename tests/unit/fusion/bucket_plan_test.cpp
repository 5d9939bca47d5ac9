#include "kolo/fusion/bucket_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kolo::fusion {
namespace {

ParameterInfo parameter(const std::string& name, std::int64_t count) { return {name, {count}, count}; }

// The reference CNN at 3x32x32 with 10 classes, in registration order.
std::vector<ParameterInfo> reference_cnn() {
  return {parameter("conv1.weight", 864), parameter("conv1.bias", 32),      parameter("conv2.weight", 18432),
          parameter("conv2.bias", 64),    parameter("fc1.weight", 2097152), parameter("fc1.bias", 512),
          parameter("fc2.weight", 5120),  parameter("fc2.bias", 10)};
}

TEST(BucketPlan, KeepsReverseRegistrationOrder) {
  const BucketPlan plan = plan_buckets(reference_cnn(), 4, {});
  EXPECT_EQ(plan.slots.front().parameter.name, "fc2.bias");
  EXPECT_EQ(plan.slots.back().parameter.name, "conv1.weight");
}

TEST(BucketPlan, AlignsEverySlotTo64Bytes) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{8}}) {
    for (const Slot& slot : plan_buckets(reference_cnn(), size, {}).slots) {
      EXPECT_EQ(slot.begin * static_cast<std::int64_t>(size) % 64, 0) << slot.parameter.name;
    }
  }
}

TEST(BucketPlan, CountsParametersWithoutPadding) {
  EXPECT_EQ(plan_buckets(reference_cnn(), 4, {}).parameter_count(), 2122186);
}

TEST(BucketPlan, CoversTheArenaWithoutGapsOrOverlap) {
  for (const double mib : {0.001, 0.1, 1.0, 25.0}) {
    const BucketPlan plan = plan_buckets(reference_cnn(), 4, {mib, mib});
    std::int64_t expected_begin = 0;
    std::size_t expected_slot = 0;
    for (const Bucket& bucket : plan.buckets) {
      EXPECT_EQ(bucket.begin, expected_begin);
      EXPECT_EQ(bucket.first_slot, expected_slot);
      EXPECT_LT(bucket.first_slot, bucket.last_slot);
      expected_begin = bucket.end;
      expected_slot = bucket.last_slot;
    }
    EXPECT_EQ(expected_begin, plan.size);
    EXPECT_EQ(expected_slot, plan.slots.size());
  }
}

TEST(BucketPlan, GivesATensorLargerThanABucketOneOfItsOwn) {
  const BucketPlan plan = plan_buckets(reference_cnn(), 4, {1, 1});
  for (const Bucket& bucket : plan.buckets) {
    if (plan.slots[bucket.first_slot].parameter.name == "fc1.weight") {
      EXPECT_EQ(bucket.last_slot, bucket.first_slot + 1);
    }
  }
}

TEST(BucketPlan, HasASmallFirstBucketAndLargerOthers) {
  std::vector<ParameterInfo> many(64, parameter("w", 64 * 1024));  // 256 KiB each
  const BucketPlan plan = plan_buckets(many, 4, {1, 4});
  EXPECT_EQ(plan.buckets.front().size() * 4, 1 << 20);
  EXPECT_EQ(plan.buckets[1].size() * 4, 4 << 20);
}

TEST(BucketPlan, DescribesWhatTwoRanksMustShare) {
  const auto plan = [](std::int64_t count) {
    return plan_buckets(std::vector{parameter("a", count)}, 4, {}).describe();
  };
  EXPECT_EQ(plan(3), plan(3));
  EXPECT_NE(plan(3), plan(4));
}

}  // namespace
}  // namespace kolo::fusion
