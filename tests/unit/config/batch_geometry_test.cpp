#include "kolo/config/batch_geometry.hpp"

#include <gmock/gmock.h>

#include "errors.hpp"

namespace kolo::config {

void PrintTo(const BatchGeometry& batch, std::ostream* out) {
  *out << "{" << batch.global_batch << ", " << batch.batch_per_rank << ", " << batch.accumulate << "}";
}

namespace {

using test::caught;

TrainSection keys(std::int64_t global_batch, std::int64_t batch_per_rank, std::int64_t accumulate) {
  TrainSection train;
  train.global_batch = global_batch;
  train.batch_per_rank = batch_per_rank;
  train.accumulate = accumulate;
  return train;
}

TEST(BatchGeometry, GlobalBatchIs128WithoutEither) {
  EXPECT_EQ(resolve_batch(keys(0, 0, 1), 1), (BatchGeometry{128, 128, 1}));
  EXPECT_EQ(resolve_batch(keys(0, 0, 1), 3), (BatchGeometry{128, 43, 1}));
  EXPECT_EQ(resolve_batch(keys(0, 0, 2), 4), (BatchGeometry{128, 16, 2}));
}

TEST(BatchGeometry, GlobalBatchAloneIsDividedUpwards) {
  EXPECT_EQ(resolve_batch(keys(100, 0, 1), 4), (BatchGeometry{100, 25, 1}));
  EXPECT_EQ(resolve_batch(keys(101, 0, 1), 4), (BatchGeometry{101, 26, 1}));
  EXPECT_EQ(resolve_batch(keys(101, 0, 3), 4), (BatchGeometry{101, 9, 3}));
  EXPECT_EQ(resolve_batch(keys(4, 0, 1), 4), (BatchGeometry{4, 1, 1}));
}

TEST(BatchGeometry, BatchPerRankAloneIsMultiplied) {
  EXPECT_EQ(resolve_batch(keys(0, 32, 1), 3), (BatchGeometry{96, 32, 1}));
  EXPECT_EQ(resolve_batch(keys(0, 32, 5), 3), (BatchGeometry{480, 32, 5}));
}

TEST(BatchGeometry, BothGivenDeriveTheAccumulation) {
  EXPECT_EQ(resolve_batch(keys(256, 32, 1), 2), (BatchGeometry{256, 32, 4}));
  EXPECT_EQ(resolve_batch(keys(256, 32, 1), 3), (BatchGeometry{256, 32, 3}));
  EXPECT_EQ(resolve_batch(keys(64, 32, 1), 2), (BatchGeometry{64, 32, 1}));
  EXPECT_EQ(resolve_batch(keys(40, 32, 1), 4), (BatchGeometry{40, 32, 1}));
}

TEST(BatchGeometry, AllThreeMustAgree) {
  EXPECT_EQ(resolve_batch(keys(256, 32, 4), 2), (BatchGeometry{256, 32, 4}));
  EXPECT_EQ(resolve_batch(keys(250, 32, 4), 2), (BatchGeometry{250, 32, 4}));
  const auto too_few = caught([] { resolve_batch(keys(256, 32, 2), 2); });
  EXPECT_EQ(
      too_few.message,
      "train.accumulate = 2: expected 4, as train.global_batch is 256, train.batch_per_rank 32 and the world "
      "size 2");
  EXPECT_EQ(caught([] { resolve_batch(keys(256, 32, 5), 2); }).message.substr(0, 32),
            "train.accumulate = 5: expected 4");
}

TEST(BatchGeometry, GlobalBatchBelowTheWorldSizeNamesBothAndTheFix) {
  for (const std::int64_t batch_per_rank : {0, 2}) {
    const auto error = caught([&] { resolve_batch(keys(3, batch_per_rank, 1), 4); });
    EXPECT_EQ(error.message, "train.global_batch = 3: expected at least the world size of 4");
    EXPECT_EQ(error.hint, "set train.global_batch to 4 or more, or start at most 3 ranks");
  }
  EXPECT_EQ(caught([] { resolve_batch(keys(0, 0, 1), 200); }).message,
            "train.global_batch = 128: expected at least the world size of 200");
}

TEST(BatchGeometry, ForwardPassWithoutSamplesIsRefused) {
  EXPECT_EQ(caught([] { resolve_batch(keys(10, 0, 3), 4); }).message,
            "train.accumulate = 3: expected at most 2, as train.global_batch is 10 and the world size 4");
  EXPECT_EQ(resolve_batch(keys(10, 0, 2), 4), (BatchGeometry{10, 2, 2}));
}

TEST(BatchGeometry, ProductCoversTheGlobalBatch) {
  for (int world = 1; world <= 9; ++world) {
    for (std::int64_t global = world; global <= 60; ++global) {
      for (std::int64_t per_rank = 0; per_rank <= 17; ++per_rank) {
        const BatchGeometry batch = resolve_batch(keys(global, per_rank, 1), world);
        ASSERT_EQ(batch.global_batch, global);
        ASSERT_GE(batch.batch_per_rank * world * batch.accumulate, global) << world << " " << per_rank;
        if (batch.accumulate > 1) {
          ASSERT_LT(batch.batch_per_rank * world * (batch.accumulate - 1), global)
              << world << " " << per_rank;
        }
      }
    }
  }
}

TEST(BatchGeometry, LargestKeysDoNotOverflow) {
  const BatchGeometry batch = resolve_batch(keys(0, 1'000'000, 1'000), 2'000'000'000);
  EXPECT_EQ(batch.global_batch, 2'000'000'000'000'000'000);
}

}  // namespace
}  // namespace kolo::config
