#include "kolo/util/worker_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace kolo::util::test {
namespace {

TEST(WorkerThread, CarriesOutTasksInOrder) {
  std::vector<int> done;
  WorkerThread worker;
  for (int i = 0; i < 100; ++i)
    worker.submit([&done, i] { done.push_back(i); });
  worker.wait();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(WorkerThread, SubmittingDoesNotWait) {
  std::atomic<bool> go = false;
  WorkerThread worker;
  worker.submit([&go] { go.wait(false); });
  worker.submit([] {});
  worker.check();
  go = true;
  go.notify_all();
  worker.wait();
}

TEST(WorkerThread, ATaskThatThrowsEndsTheSeriesAndIsToldEveryTime) {
  int later = 0;
  WorkerThread worker;
  worker.submit([] { throw std::runtime_error("first"); });
  EXPECT_THROW(worker.wait(), std::runtime_error);
  worker.submit([&later] { ++later; });
  EXPECT_THROW(worker.wait(), std::runtime_error);
  EXPECT_THROW(worker.check(), std::runtime_error);
  EXPECT_EQ(later, 0);
}

TEST(WorkerThread, TheDestructorCarriesOutWhatWasSubmitted) {
  int done = 0;
  {
    WorkerThread worker;
    worker.submit([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    for (int i = 0; i < 10; ++i)
      worker.submit([&done] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

TEST(WorkerThread, ATasksCaptureDiesBeforeWaitReturns) {
  const auto held = std::make_shared<int>(1);
  WorkerThread worker;
  worker.submit([held] {});
  worker.wait();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace kolo::util::test
