#include "kolo/data/loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "kolo/data/source.hpp"
#include "kolo/data/synthetic.hpp"

namespace kolo::data {
namespace {

constexpr std::int64_t kSize = 23;

const Dataset& set() {
  static const Dataset instance = read_source(make_synthetic({1, Part::train, kSize, {2, 3, 5}, 4}));
  return instance;
}

// `epochs` epochs in batches of `batch`, the last of each short.
Loader::NextRequest requests(std::int64_t epochs, std::int64_t batch) {
  return [epochs, batch, next = BatchRequest{0, 0, 0}]() mutable -> std::optional<BatchRequest> {
    next.begin = next.end;
    if (next.begin == kSize) next = {next.epoch + 1, 0, 0};
    if (next.epoch == epochs) return std::nullopt;
    next.end = std::min(next.begin + batch, kSize);
    return next;
  };
}

Loader::NextRequest once(BatchRequest request) {
  return [request, asked = false]() mutable -> std::optional<BatchRequest> {
    if (std::exchange(asked, true)) return std::nullopt;
    return request;
  };
}

LoaderOptions options(Shuffle shuffle, std::int64_t depth = 3) {
  LoaderOptions result;
  result.seed = 9;
  result.shuffle = shuffle;
  result.depth = depth;
  result.transform = {1, Flip::on, {0.5}, {0.25}};
  return result;
}

template <class T>
void expect_assembled(const Batch& batch, Augment augment) {
  const Assembler assembler(set(), {1, Flip::on, {0.5}, {0.25}}, 9);
  std::vector<T> expected(batch.samples.size() * 30);
  assembler.assemble(batch.samples, batch.request.epoch, augment, expected);
  const std::span<T> values = batch.values<T>();
  EXPECT_TRUE(std::ranges::equal(values, expected));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % 64, 0U);
}

TEST(Loader, GivesEveryBatchOfTheEpochsOrderInTurn) {
  for (const std::int64_t depth : {1, 2, 50}) {
    Loader loader(set(), options(Shuffle::on, depth), requests(3, 5));
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const EpochOrder order(kSize, 9, epoch, Shuffle::on);
      for (std::int64_t begin = 0; begin < kSize; begin += 5) {
        const std::shared_ptr<Batch> batch = loader.next();
        ASSERT_TRUE(batch);
        ASSERT_EQ(batch->request.begin, begin);
        ASSERT_EQ(batch->request.epoch, epoch);
        ASSERT_EQ(batch->count, std::min<std::int64_t>(5, kSize - begin));
        for (std::int64_t i = 0; i < batch->count; ++i) {
          const auto at = static_cast<std::size_t>(i);
          EXPECT_EQ(batch->samples[at], order[begin + i]);
          EXPECT_EQ(batch->labels[at], set().label(order[begin + i]));
        }
        expect_assembled<float>(*batch, Augment::on);
      }
    }
    EXPECT_FALSE(loader.next());
    EXPECT_FALSE(loader.next());
  }
}

TEST(Loader, MakesFp64WithoutAugmentationOrShuffle) {
  LoaderOptions plain = options(Shuffle::off);
  plain.augment = Augment::off;
  plain.dtype = DType::f64;
  Loader loader(set(), plain, once({0, 4, 11}));
  const std::shared_ptr<Batch> batch = loader.next();
  EXPECT_EQ(batch->samples, (std::vector<std::int64_t>{4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(batch->dtype, DType::f64);
  expect_assembled<double>(*batch, Augment::off);
}

TEST(Loader, AnEmptyRequestIsABatchOfNothing) {
  Loader loader(set(), options(Shuffle::on), once({2, 7, 7}));
  const std::shared_ptr<Batch> batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->count, 0);
  EXPECT_EQ(batch->request.epoch, 2);
  EXPECT_TRUE(batch->labels.empty());
  EXPECT_TRUE(batch->values<float>().empty());
}

TEST(Loader, HeldBatchesKeepTheirValuesAndOutliveTheLoader) {
  std::vector<std::shared_ptr<Batch>> held;
  {
    Loader loader(set(), options(Shuffle::on, 2), requests(4, 3));
    while (std::shared_ptr<Batch> batch = loader.next())
      held.push_back(batch);
  }
  ASSERT_EQ(held.size(), 32U);
  for (const auto& batch : held)
    expect_assembled<float>(*batch, Augment::on);
}

TEST(Loader, BuffersAreUsedAgain) {
  Loader loader(set(), options(Shuffle::on, 2), requests(10, 5));
  std::vector<const std::byte*> seen;
  while (const std::shared_ptr<Batch> batch = loader.next()) {
    if (std::ranges::find(seen, batch->images.data()) == seen.end()) seen.push_back(batch->images.data());
  }
  EXPECT_LE(seen.size(), 4U);  // two ready, one being made, one held
}

TEST(Loader, AsksOnlyForAsManyBatchesAsItMayMakeAhead) {
  std::atomic<int> asked = 0;
  Loader loader(set(), options(Shuffle::on, 2), [&asked]() -> std::optional<BatchRequest> {
    ++asked;
    return BatchRequest{0, 0, 1};
  });
  for (int taken = 1; taken <= 50; ++taken) {
    loader.next();
    EXPECT_LE(asked, taken + 2);
  }
}

TEST(Loader, AnErrorComesAfterTheBatchesBeforeIt) {
  Loader loader(set(), options(Shuffle::on), [count = 0]() mutable -> std::optional<BatchRequest> {
    if (count++ == 2) throw std::runtime_error("no more");
    return BatchRequest{0, 0, 4};
  });
  EXPECT_TRUE(loader.next());
  EXPECT_TRUE(loader.next());
  EXPECT_THROW(loader.next(), std::runtime_error);
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST(Loader, ARequestOutsideTheEpochIsAnError) {
  for (const BatchRequest bad :
       {BatchRequest{0, 20, kSize + 1}, BatchRequest{0, -1, 2}, BatchRequest{0, 5, 4}}) {
    Loader loader(set(), options(Shuffle::on), once(bad));
    EXPECT_THROW(loader.next(), std::out_of_range);
  }
}

TEST(Loader, CanBeDestroyedAtAnyPoint) {
  for (int taken = 0; taken < 8; ++taken) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      Loader loader(set(), options(Shuffle::on, 1 + repeat % 4), requests(100, 2));
      for (int i = 0; i < taken; ++i)
        loader.next();
    }
  }
}

TEST(Loader, CountsTheTimeItsConsumerWaits) {
  using std::chrono::milliseconds;
  Loader loader(set(), options(Shuffle::on, 1), []() -> std::optional<BatchRequest> {
    std::this_thread::sleep_for(milliseconds(20));
    return BatchRequest{0, 0, 1};
  });
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += loader.next()->wait_seconds;
  EXPECT_GT(sum, 0);
  EXPECT_DOUBLE_EQ(loader.wait_seconds(), sum);
}

TEST(Loader, IntegersAreNoInputType) {
  LoaderOptions wrong = options(Shuffle::on);
  wrong.dtype = DType::u8;
  EXPECT_THROW(Loader(set(), wrong, once({0, 0, 1})), std::invalid_argument);
}

}  // namespace
}  // namespace kolo::data
