#include "kolo/data/share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace kolo::data {
namespace {

std::vector<Range> shares(std::int64_t count, int world, std::int64_t min) {
  std::vector<Range> all;
  for (int rank = 0; rank < world; ++rank)
    all.push_back(share(count, rank, world, min));
  return all;
}

template <class F>
void for_many(F&& check) {
  for (std::int64_t min : {1, 2, 3}) {
    for (int world = 1; world <= 9; ++world) {
      for (std::int64_t count = 0; count <= 60; ++count) {
        SCOPED_TRACE(testing::Message() << "count " << count << ", world " << world << ", min " << min);
        check(count, world, min);
      }
    }
  }
}

TEST(Share, CoversTheStepOnceInRankOrder) {
  for_many([](std::int64_t count, int world, std::int64_t min) {
    std::int64_t next = 0;
    for (const Range& range : shares(count, world, min)) {
      if (range.empty()) continue;
      EXPECT_EQ(range.begin, next);
      next = range.end;
    }
    EXPECT_EQ(next, count < min ? 0 : count);
  });
}

TEST(Share, SizesDifferByOneAndAreNeverBelowTheMinimum) {
  for_many([](std::int64_t count, int world, std::int64_t min) {
    std::vector<std::int64_t> sizes;
    for (const Range& range : shares(count, world, min)) {
      if (!range.empty()) sizes.push_back(range.size());
    }
    if (sizes.empty()) return;
    const auto [least, most] = std::ranges::minmax(sizes);
    EXPECT_LE(most - least, 1);
    EXPECT_GE(least, min);
  });
}

TEST(Share, AsManyRanksAsPossibleTakePart) {
  for_many([](std::int64_t count, int world, std::int64_t min) {
    const std::vector<Range> all = shares(count, world, min);
    const auto taking = std::ranges::count_if(all, [](const Range& range) { return !range.empty(); });
    EXPECT_EQ(taking, std::min<std::int64_t>(world, count / min));
  });
}

TEST(MicroBatches, CoverTheShareInOrder) {
  for (std::int64_t size = 0; size <= 40; ++size) {
    for (std::int64_t batch = 1; batch <= 12; ++batch) {
      for (std::int64_t min : {1, 2}) {
        std::int64_t next = 100;
        for (const Range& piece : micro_batches({100, 100 + size}, batch, min)) {
          EXPECT_EQ(piece.begin, next);
          EXPECT_FALSE(piece.empty());
          next = piece.end;
        }
        EXPECT_EQ(next, 100 + size);
      }
    }
  }
}

TEST(MicroBatches, AreFewBalancedAndWithinTheBatch) {
  for (std::int64_t size = 1; size <= 40; ++size) {
    for (std::int64_t batch = 1; batch <= 12; ++batch) {
      const std::vector<Range> pieces = micro_batches({0, size}, batch, 1);
      EXPECT_EQ(std::ssize(pieces), (size + batch - 1) / batch);
      const auto [least, most] = std::ranges::minmax(pieces, {}, &Range::size);
      EXPECT_LE(most.size() - least.size(), 1);
      EXPECT_LE(most.size(), batch);
    }
  }
}

TEST(MicroBatches, GrowBeyondTheBatchOnlyToKeepTheMinimum) {
  EXPECT_EQ(micro_batches({0, 3}, 2, 2), (std::vector<Range>{{0, 3}}));
  EXPECT_EQ(micro_batches({0, 5}, 2, 2), (std::vector<Range>{{0, 3}, {3, 5}}));
  EXPECT_EQ(micro_batches({4, 5}, 2, 2), (std::vector<Range>{{4, 5}}));
  EXPECT_EQ(micro_batches({0, 5}, 4, 2), (std::vector<Range>{{0, 3}, {3, 5}}));
}

}  // namespace
}  // namespace kolo::data
