#include "kolo/util/deadline.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>

namespace kolo::util {
namespace {

TEST(Deadline, WaitsForWorkThatEnds) {
  bool done = false;
  EXPECT_TRUE(finishes_within(60, [&] { done = true; }));
  EXPECT_TRUE(done);
}

TEST(Deadline, AnExceptionIsAnEnd) {
  EXPECT_TRUE(finishes_within(60, [] { throw std::runtime_error("no matter"); }));
}

TEST(Deadline, LeavesWorkBehindThatHangs) {
  const auto release = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  EXPECT_FALSE(finishes_within(0.01, [release, ended] {
    release->get_future().wait();
    ended->set_value();
  }));
  release->set_value();
  ended->get_future().wait();
}

}  // namespace
}  // namespace kolo::util
