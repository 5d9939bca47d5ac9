// The benchmark's exchange: right sums for sizes that divide evenly into nothing.
#include "kolo/bench/allreduce.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "kolo/config/choices.hpp"

namespace kolo::test {
namespace {

constexpr std::int64_t kOddSizes[] = {1, 2, 15, 17, 1000, 100'003};
constexpr int kWarmup = 1;
constexpr int kRepetitions = 2;

class BenchAllreduce : public testing::TestWithParam<std::tuple<config::Strategy, DType>> {
 protected:
  comm::Communicator world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  void TearDown() override { world.close(); }
};

TEST_P(BenchAllreduce, SumsAreCorrectForOddSizes) {
  const auto [strategy, type] = GetParam();
  for (const std::int64_t elements : kOddSizes) {
    const auto result = bench::measure_allreduce({strategy, type, elements}, world, kWarmup, kRepetitions);
    EXPECT_TRUE(result.correct) << elements << " elements";
  }
}

TEST_P(BenchAllreduce, TimesArePositiveAndTheSameOnEveryRank) {
  const auto [strategy, type] = GetParam();
  const auto result = bench::measure_allreduce({strategy, type, 1000}, world, 0, kRepetitions);
  for (const double seconds : {result.seconds, result.plain_seconds}) {
    EXPECT_GT(seconds, 0);
    EXPECT_EQ(world.all_reduce(seconds, comm::Op::min), world.all_reduce(seconds, comm::Op::max));
  }
}

TEST_P(BenchAllreduce, AMessageOfSeveralBucketsIsCorrect) {
  const auto [strategy, type] = GetParam();
  const std::int64_t elements = (std::int64_t{3} << 20) / static_cast<std::int64_t>(size_of(type)) + 7;
  EXPECT_TRUE(bench::measure_allreduce({strategy, type, elements}, world, 0, 1).correct);
}

INSTANTIATE_TEST_SUITE_P(All, BenchAllreduce,
                         testing::Combine(testing::Values(config::Strategy::shared,
                                                          config::Strategy::allreduce),
                                          testing::Values(DType::f32, DType::f64)),
                         [](const auto& which) {
                           return std::string(config::name_of(std::get<0>(which.param))) + "_" +
                                  std::string(name_of(std::get<1>(which.param)));
                         });

}  // namespace
}  // namespace kolo::test
