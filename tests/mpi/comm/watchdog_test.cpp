// The watchdog over several nodes: here each rank is a node of its own.
#include "kolo/comm/watchdog.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "kolo/comm/communicator.hpp"
#include "kolo/util/time.hpp"
#include "support/temp_dir.hpp"

namespace kolo::comm::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr double kTimeout = 3;

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// What a watchdog has said.
class Report {
 public:
  Watchdog::Callbacks callbacks() {
    Watchdog::Callbacks all;
    all.warn = [this](const std::string& message) { note(warning, message); };
    all.died = [](const RankState&) {};
    all.give_up = [this](const std::string& message, const std::vector<std::string>&, int its_turn) {
      turn = its_turn;
      note(last_word, message);
    };
    return all;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    said_.wait(lock, [&] { return !last_word.empty(); });
  }
  bool gave_up() {
    const std::scoped_lock lock(mutex_);
    return !last_word.empty();
  }

  std::string warning, last_word;
  int turn = -1;

 private:
  void note(std::string& where, const std::string& message) {
    const std::scoped_lock lock(mutex_);
    where = message;
    said_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable said_;
};

class WatchdogOverNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (world.size() < 2) GTEST_SKIP() << "needs two nodes";
    node.emplace(world.split(world.rank()));
    board = NodeBoard::make(world, *node);
    pulse = Pulse(board.slot(0));
    pulse.enter_step(1);
    pulse.enter(Phase::exchange);
    directory = world.broadcast(dir.path().string(), 0);
    setup.timeout = kTimeout;
    setup.ranks = {world.rank()};
    setup.host = host(world.rank());
    for (int rank = 0; rank < world.size(); ++rank)
      setup.nodes.push_back({rank, host(rank)});
  }
  void TearDown() override {
    pulse = {};
    world.barrier();
    if (node) {
      board.close();
      node->close();
    }
    world.close();
  }
  static std::string host(int rank) { return "node" + std::to_string(rank); }

  Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  const kolo::test::TempDir dir;
  fs::path directory;
  std::optional<Communicator> node;
  NodeBoard board;
  Pulse pulse;
  Watchdog::Setup setup;
  Report report;
};

// A node that waits asks the busy one, which answers although nothing is wrong with it.
TEST_F(WatchdogOverNodes, ANodeThatIsBusyHoldsNobodyUp) {
  const bool busy = world.rank() == 0;
  if (busy) pulse.enter(Phase::checkpoint);
  {
    Watchdog watchdog(board, setup, report.callbacks());
    watchdog.set_directory(directory);
    for (double waited = 0; waited < 2.5 * kTimeout; waited += 0.02) {
      sleep_s(0.02);
      if (busy) pulse.beat();
    }
    world.barrier();
  }
  EXPECT_EQ(report.warning, "");
  EXPECT_EQ(report.last_word, "");
  world.barrier();
  EXPECT_FALSE(fs::exists(directory / ".watchdog"))
      << "what was written is removed when nobody asks any more";
}

/// Stops this process and lets it go on, from outside.
void suspend_later(const std::string& after_s, const std::string& for_s) {
  const std::string pid = std::to_string(getpid());
  const std::string script =
      "sleep " + after_s + "; kill -STOP " + pid + "; sleep " + for_s + "; kill -CONT " + pid;
  const char* const arguments[] = {"sh", "-c", script.c_str(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawnp(&child, "sh", nullptr, nullptr, const_cast<char* const*>(arguments), environ), 0);
}

// While the job is suspended nobody answers; that must not look like a directory that does not.
TEST_F(WatchdogOverNodes, ASuspendedJobThatGoesOnHoldsNobodyUp) {
  if (world.size() != 2) GTEST_SKIP() << "two nodes show it";
  const bool busy = world.rank() == 1;  // the one that waits has the first turn to speak
  if (busy) pulse.enter(Phase::checkpoint);
  {
    Watchdog watchdog(board, setup, report.callbacks());
    watchdog.set_directory(directory);
    suspend_later("4", "3");
    const util::Stopwatch watch;
    while (watch.seconds() < 9) {
      sleep_s(0.02);
      if (busy) pulse.beat();
    }
    world.barrier();
  }
  EXPECT_EQ(report.warning, "");
  EXPECT_EQ(report.last_word, "");
}

// All know who is behind, and one is the first to say so.
TEST_F(WatchdogOverNodes, WhenNothingMovesTheOneBehindIsNamed) {
  const int last = world.size() - 1;
  if (world.rank() == last) pulse.enter(Phase::backward);
  {
    Watchdog watchdog(board, setup, report.callbacks());
    watchdog.set_directory(directory);
    report.wait();
    world.barrier();
  }
  EXPECT_EQ(report.last_word,
            "rank " + std::to_string(last) + " on " + host(last) + " (step 1, backward) does not get on");
  EXPECT_EQ(report.turn, world.rank());
  EXPECT_EQ(report.warning, world.rank() == 0 ? report.last_word : "");
}

// With comm.timeout = 0 nobody judges, so nobody needs to ask.
TEST_F(WatchdogOverNodes, WithoutATimeoutNothingIsTraded) {
  setup.timeout = 0;
  {
    Watchdog watchdog(board, setup, report.callbacks());
    watchdog.set_directory(directory);
    world.barrier();
  }
  EXPECT_FALSE(report.gave_up());
}

// A directory that hangs: here the file to be written is a pipe that nobody reads.
TEST_F(WatchdogOverNodes, ADirectoryThatHangsKeepsNobodyFromSpeaking) {
  const fs::path mine = directory / ".watchdog" / ("node_of_rank_" + std::to_string(world.rank()) + ".new");
  fs::create_directory(directory / ".watchdog");
  ASSERT_EQ(mkfifo(mine.c_str(), 0600), 0);
  world.barrier();
  {
    Watchdog watchdog(board, setup, report.callbacks());
    watchdog.set_directory(directory);
    report.wait();
  }
  EXPECT_THAT(report.last_word, HasSubstr("the run directory does not answer"));
  EXPECT_EQ(report.turn, world.rank());
  // The thread that hangs is let go.
  const int reader = open(mine.c_str(), O_RDONLY | O_NONBLOCK);
  world.barrier();
  sleep_s(0.1);
  close(reader);
}

}  // namespace
}  // namespace kolo::comm::test
