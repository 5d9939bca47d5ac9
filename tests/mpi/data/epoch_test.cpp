// An epoch over all ranks: each sample exactly once, and the same global batches for every number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kolo/comm/communicator.hpp"
#include "kolo/data/loader.hpp"
#include "kolo/data/share.hpp"
#include "kolo/data/source.hpp"
#include "kolo/data/synthetic.hpp"

namespace kolo::data {
namespace {

constexpr std::int64_t kSamples = 10'007;
constexpr std::int64_t kBatch = 96;
constexpr std::int64_t kMicroBatch = 20;
constexpr std::int64_t kSteps = (kSamples + kBatch - 1) / kBatch;

const Dataset& set() {
  static const Dataset instance = read_source(make_synthetic({1, Part::train, kSamples, {1, 2, 2}, 10}));
  return instance;
}

// This rank's pieces of one epoch, step after step.
std::vector<BatchRequest> requests_of(const comm::Communicator& world, std::int64_t epoch,
                                      std::int64_t min_size) {
  std::vector<BatchRequest> requests;
  for (std::int64_t begin = 0; begin < kSamples; begin += kBatch) {
    const Range mine = share(std::min(kBatch, kSamples - begin), world.rank(), world.size(), min_size);
    for (const Range& piece : micro_batches(mine, kMicroBatch, min_size)) {
      requests.push_back({epoch, begin + piece.begin, begin + piece.end});
    }
  }
  return requests;
}

// For each sample, one more than the global batch it was in; sums over all ranks.
std::vector<std::int64_t> batches_of_samples(const comm::Communicator& world, std::int64_t epoch,
                                             std::int64_t min_size) {
  const std::vector<BatchRequest> requests = requests_of(world, epoch, min_size);
  LoaderOptions options;
  options.seed = 4;
  Loader loader(set(), options, [&requests, next = std::size_t{0}]() mutable -> std::optional<BatchRequest> {
    if (next == requests.size()) return std::nullopt;
    return requests[next++];
  });
  std::vector<std::int64_t> seen(kSamples, 0);
  while (const std::shared_ptr<Batch> batch = loader.next()) {
    EXPECT_GE(batch->count, min_size);
    for (const std::int64_t sample : batch->samples) {
      seen[static_cast<std::size_t>(sample)] += batch->request.begin / kBatch + 1;
    }
  }
  world.all_reduce(std::span(seen), comm::Op::sum);
  return seen;
}

// What one rank alone would have in each batch.
std::vector<std::int64_t> expected_batches(std::int64_t epoch) {
  const EpochOrder order(kSamples, 4, epoch, Shuffle::on);
  std::vector<std::int64_t> batches(kSamples, 0);
  for (std::int64_t position = 0; position < kSamples; ++position) {
    batches[static_cast<std::size_t>(order[position])] = position / kBatch + 1;
  }
  return batches;
}

TEST(Epoch, GlobalBatchesAreTheSameSetsForEveryWorldSize) {
  const auto world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  for (const std::int64_t epoch : {0, 1}) {
    for (const std::int64_t min_size : {1, 2}) {
      EXPECT_EQ(batches_of_samples(world, epoch, min_size), expected_batches(epoch));
    }
  }
}

TEST(Epoch, EverySampleComesExactlyOnce) {
  const auto world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  std::vector<std::int64_t> times(kSamples, 0);
  std::vector<std::int64_t> in_batch(kSteps, 0);
  const EpochOrder order(kSamples, 4, 7, Shuffle::on);
  for (const BatchRequest& request : requests_of(world, 7, 2)) {
    for (std::int64_t p = request.begin; p < request.end; ++p)
      ++times[static_cast<std::size_t>(order[p])];
    in_batch[static_cast<std::size_t>(request.begin / kBatch)] += request.end - request.begin;
  }
  world.all_reduce(std::span(times), comm::Op::sum);
  world.all_reduce(std::span(in_batch), comm::Op::sum);
  EXPECT_EQ(times, std::vector<std::int64_t>(kSamples, 1));
  EXPECT_EQ(in_batch.back(), kSamples - kBatch * (kSteps - 1));
}

}  // namespace
}  // namespace kolo::data
