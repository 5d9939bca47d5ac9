#include "kolo/bench/copy_bandwidth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace kolo::test {
namespace {

TEST(CopyBandwidth, IsPositiveFiniteAndTheSameOnEveryRank) {
  comm::Communicator world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  comm::Communicator node = world.split_by_node();
  for (const std::size_t bytes : {0, 1, 4096, 1'000'003, 32 << 20}) {
    const double rate = bench::copy_bandwidth(node, bytes, 3);
    EXPECT_GT(rate, 0) << bytes;
    EXPECT_TRUE(std::isfinite(rate)) << bytes;
    EXPECT_EQ(node.all_reduce(rate, comm::Op::min), node.all_reduce(rate, comm::Op::max)) << bytes;
  }
  node.close();
  world.close();
}

}  // namespace
}  // namespace kolo::test
