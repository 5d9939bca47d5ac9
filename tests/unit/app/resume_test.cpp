#include "kolo/app/resume.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kolo/config/effective_deck.hpp"
#include "kolo/util/error.hpp"

namespace kolo::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Layout, SaysHowManyRanksEachNodeHas) {
  EXPECT_EQ(describe_layout({"a"}), "1");
  EXPECT_EQ(describe_layout({"a", "a", "a", "a"}), "4");
  EXPECT_EQ(describe_layout({"a", "a", "b", "b"}), "2 x 2");
  EXPECT_EQ(describe_layout({"a", "a", "b"}), "2 + 1");
  EXPECT_EQ(describe_layout({"a", "b", "a", "b"}), "4 x 1");
  EXPECT_EQ(describe_layout({"a", "a", "b", "b", "c"}), "2 x 2 + 1");
}

TEST(Resume, NamesEachKindOfProcessorOnce) {
  EXPECT_EQ(name_processors({"a", "a"}), "a");
  EXPECT_EQ(name_processors({"a", "b", "a"}), "a and b");
}

TEST(Resume, NamesEverythingThatChangesTheNumbers) {
  train::RunIdentity stored;
  stored.layout = "4";
  stored.eval_batch = 100;
  train::RunIdentity now = stored;
  EXPECT_THAT(inexact_because(stored, now), IsEmpty());
  now.layout = "2 x 2";
  now.eval_batch = 50;
  now.mpi = "another MPI";
  EXPECT_THAT(inexact_because(stored, now), ElementsAre("the layout of ranks on nodes was 4, now 2 x 2",
                                                        "the MPI library was not known, now another MPI",
                                                        "train.eval_batch was 100, now 50"));
}

std::string hint_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.hint();
  }
  ADD_FAILURE() << "threw nothing";
  return {};
}

// Whoever is refused learns what would be allowed.
TEST(Resume, EveryRefusalSaysWhatToDo) {
  config::Config now;
  const std::string stored = config::effective_deck(now);
  now.optimizer.lr *= 2;
  EXPECT_THAT(hint_of([&] { require_same_deck(stored, now); }), HasSubstr("may change: run.threads"));
  EXPECT_THAT(hint_of([] { require_same_global_batch(64, 128); }), HasSubstr("may change: run.threads"));
  train::RunState done;
  done.epoch = 3;
  done.step = 40;
  config::TrainSection section;
  section.epochs = 2;
  EXPECT_THAT(hint_of([&] { require_not_past(section, done); }), HasSubstr("train.epochs = 3 or more"));
  section.epochs = 3;
  section.max_steps = 39;
  EXPECT_THAT(hint_of([&] { require_not_past(section, done); }), HasSubstr("train.max_steps = 40 or more"));
}

}  // namespace
}  // namespace kolo::app
