#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "kolo/comm/agree.hpp"
#include "kolo/comm/communicator.hpp"
#include "kolo/comm/cpu_binding.hpp"
#include "kolo/comm/handshake.hpp"
#include "kolo/comm/shared_buffer.hpp"

namespace kolo::comm {
namespace {

class Comm : public testing::Test {
 protected:
  Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  void TearDown() override { world.close(); }
};

TEST_F(Comm, AllReduceEqualsPlainMpi) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{100003}}) {
    std::vector<double> ours(size), plain(size);
    for (std::size_t i = 0; i < size; ++i)
      ours[i] = plain[i] = static_cast<double>(i * 3) + world.rank();
    world.all_reduce(ours, Op::sum);
    MPI_Allreduce(MPI_IN_PLACE, plain.data(), static_cast<int>(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(ours, plain);
  }
}

TEST_F(Comm, ReducesScalarsWithEveryOperation) {
  const std::int64_t rank = world.rank(), last = world.size() - 1;
  EXPECT_EQ(world.all_reduce(rank, Op::min), 0);
  EXPECT_EQ(world.all_reduce(rank, Op::max), last);
  EXPECT_EQ(world.all_reduce(rank, Op::sum), last * (last + 1) / 2);
}

TEST_F(Comm, BroadcastsTextsOfAnyLength) {
  for (const std::string& text : {std::string(), std::string("x"), std::string(100000, 'y')}) {
    EXPECT_EQ(world.broadcast(world.rank() == world.size() - 1 ? text : "other", world.size() - 1), text);
  }
}

TEST_F(Comm, GathersTextsOfDifferentLengthsInRankOrder) {
  const auto texts = world.all_gather(std::string(static_cast<std::size_t>(world.rank()), 'r'));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(texts[i], std::string(i, 'r'));
}

TEST_F(Comm, NodeRanksAreNumberedFromZero) {
  Communicator node = world.split_by_node();
  EXPECT_EQ(node.rank(), world.rank());
  EXPECT_EQ(node.size(), world.size());
  node.close();
}

TEST_F(Comm, MovedFromCommunicatorOwnsNothing) {
  Communicator copy = Communicator::duplicate(MPI_COMM_WORLD);
  Communicator moved = std::move(copy);
  EXPECT_EQ(copy.handle(), MPI_COMM_NULL);
  copy.close();
  moved.close();
}

TEST_F(Comm, AFailedCallQuotesItself) {
  try {
    KOLO_MPI(MPI_Send(nullptr, 1, MPI_INT, world.size() + 7, 0, world.handle()));
    FAIL() << "an error was expected";
  } catch (const CommError& error) {
    EXPECT_NE(std::string(error.what()).find("MPI_Send(nullptr, 1"), std::string::npos);
  }
}

TEST_F(Comm, AgreeReturnsEachRanksOwnValue) {
  EXPECT_EQ(agree(world, [&] { return world.rank() * 2; }), world.rank() * 2);
}

TEST_F(Comm, AgreeThrowsTheSameErrorOnEveryRank) {
  const int culprit = world.size() - 1;
  try {
    agree(world, [&] {
      if (world.rank() == culprit) throw DataError("file 7 is missing", "look elsewhere");
    });
    FAIL() << "an error was expected";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_STREQ(error.what(), "file 7 is missing");
    EXPECT_EQ(error.hint(), "look elsewhere");
    EXPECT_EQ(error.origin_rank, culprit);
  }
}

TEST_F(Comm, AgreeReportsTheLowestFailingRank) {
  try {
    agree(world, [&] { throw ConfigError("from rank " + std::to_string(world.rank())); });
    FAIL() << "an error was expected";
  } catch (const AgreedError& error) {
    EXPECT_STREQ(error.what(), "from rank 0");
  }
}

TEST_F(Comm, AgreeTurnsForeignExceptionsIntoInternalErrors) {
  try {
    agree(world, [] { throw std::runtime_error("surprise"); });
    FAIL() << "an error was expected";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
  }
}

TEST_F(Comm, HandshakePassesWhenAllAreEqual) { EXPECT_NO_THROW(require_same(world, {"a", "b"})); }

TEST_F(Comm, HandshakeNamesTheFirstDifferenceAndBothRanks) {
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool last = world.rank() == world.size() - 1;
  try {
    require_same(world, {"lr = 0.1", last ? "seed = 2" : "seed = 1", last ? "x" : "y"});
    FAIL() << "an error was expected";
  } catch (const AgreedError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("item 2"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 0 has \"seed = 1\""), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(world.size() - 1) + " has \"seed = 2\""), std::string::npos)
        << text;
  }
}

TEST_F(Comm, HandshakeSeesMissingItems) {
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<std::string> items = {"a"};
  if (world.rank() == 1) items.emplace_back("b");
  EXPECT_THROW(require_same(world, items), AgreedError);
}

TEST_F(Comm, SharedBufferIsOneBlockForTheNode) {
  Communicator node = world.split_by_node();
  const std::size_t size = 1000 + 13;
  SharedBuffer buffer = SharedBuffer::allocate(node, size);
  ASSERT_EQ(buffer.bytes().size(), size);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 64, 0U);
  for (const std::byte value : buffer.bytes())
    EXPECT_EQ(value, std::byte{0});
  buffer.fence(node);
  buffer.bytes()[static_cast<std::size_t>(node.rank())] = static_cast<std::byte>(node.rank() + 1);
  buffer.fence(node);
  for (int r = 0; r < node.size(); ++r) {
    EXPECT_EQ(buffer.bytes()[static_cast<std::size_t>(r)], static_cast<std::byte>(r + 1));
  }
  buffer.fence(node);
  buffer.close();
  node.close();
}

TEST_F(Comm, TooLargeASharedBufferFailsOnAllRanksWithoutHanging) {
  Communicator node = world.split_by_node();
  EXPECT_THROW(SharedBuffer::allocate(node, std::size_t{1} << 50), AgreedError);
  node.close();
}

TEST_F(Comm, BindingGivesEveryRankACoreAndAThread) {
  Communicator node = world.split_by_node();
  for (const config::Bind bind : {config::Bind::keep, config::Bind::automatic, config::Bind::none}) {
    const CpuBinding binding = bind_cpus(node, bind, 0);
    EXPECT_FALSE(binding.cores.empty());
    EXPECT_GE(binding.threads, 1);
    EXPECT_FALSE(binding.reason.empty());
  }
  EXPECT_EQ(bind_cpus(node, config::Bind::none, 3).threads, 3);
  node.close();
}

}  // namespace
}  // namespace kolo::comm
