#include "kolo/comm/stall_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kolo::comm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankState state(int rank, Phase phase, std::int64_t step, std::int64_t bucket = -1, bool stopped = false) {
  return {rank, "n" + std::to_string(rank / 2), {phase, step, bucket}, 3.0, stopped};
}

std::vector<int> ranks_of(const std::vector<RankState>& states) {
  std::vector<int> ranks;
  for (const RankState& one : states)
    ranks.push_back(one.rank);
  return ranks;
}

TEST(StallReport, TheRankThatIsNotInTheExchangeHoldsUpTheOthers) {
  EXPECT_THAT(ranks_of(culprits(
                  {state(0, Phase::exchange, 9), state(1, Phase::data, 9), state(2, Phase::exchange, 9)})),
              ElementsAre(1));
}

TEST(StallReport, TheRankThatIsAStepBehindHoldsUpTheOthers) {
  EXPECT_THAT(ranks_of(culprits(
                  {state(0, Phase::forward, 9), state(1, Phase::exchange, 8), state(2, Phase::forward, 9)})),
              ElementsAre(1));
}

TEST(StallReport, TheRankWithTheEarlierBucketHoldsUpTheOthers) {
  EXPECT_THAT(ranks_of(culprits({state(0, Phase::exchange, 9, 4), state(1, Phase::exchange, 9, 3)})),
              ElementsAre(1));
}

TEST(StallReport, AStoppedProcessIsToBlameWhereverItStands) {
  EXPECT_THAT(ranks_of(culprits({state(0, Phase::data, 9), state(1, Phase::exchange, 9, -1, true)})),
              ElementsAre(1));
}

TEST(StallReport, NobodyIsToBlameWhenAllWaitInTheSameExchange) {
  EXPECT_TRUE(culprits({state(0, Phase::exchange, 9, 2), state(1, Phase::exchange, 9, 2)}).empty());
  EXPECT_EQ(describe_culprits({}), "all ranks wait for each other's messages");
}

TEST(StallReport, AllAreNamedWhenNoneIsInTheExchange) {
  EXPECT_THAT(ranks_of(culprits({state(0, Phase::forward, 9), state(1, Phase::forward, 9)})),
              ElementsAre(0, 1));
}

TEST(StallReport, WordsNameRankHostStepAndPhase) {
  EXPECT_EQ(describe_culprits({state(3, Phase::forward, 17)}),
            "rank 3 on n1 (step 17, forward) does not get on");
  EXPECT_EQ(describe_culprits({state(3, Phase::exchange, 17, 2, true)}),
            "rank 3 on n1 (step 17, exchange of bucket 2) does not respond");
  EXPECT_THAT(describe_culprits({state(0, Phase::data, 1), state(1, Phase::data, 1), state(2, Phase::data, 1),
                                 state(3, Phase::data, 1), state(4, Phase::data, 1)}),
              HasSubstr("rank 2 on n1 (step 1, data) and 2 more do not get on"));
  EXPECT_EQ(describe(Place{}), "starting");
  EXPECT_EQ(describe_culprits({state(2, Phase::starting, -1, -1, true)}),
            "rank 2 on n1 (no sign of its node) does not respond");
}

TEST(StallReport, ListsThoseWhoAreBehindFirstAndNotTooMany) {
  std::vector<RankState> states;
  for (int rank = 0; rank < 20; ++rank)
    states.push_back(state(rank, Phase::exchange, 5));
  states[7].place.phase = Phase::backward;
  states[9].stopped = true;
  const std::vector<std::string> lines = list_ranks(states, 3);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "rank 9 on n4: step 5, exchange, process stopped, silent for 3 s");
  EXPECT_EQ(lines[1], "rank 7 on n3: step 5, backward, silent for 3 s");
  EXPECT_EQ(lines[3], "and 17 more ranks");
}

TEST(StallReport, OneRankThatMovesIsEnough) {
  std::vector<RankState> states = {state(0, Phase::checkpoint, 9), state(1, Phase::exchange, 9)};
  EXPECT_EQ(stalled_for(states), 3);
  states[0].silent_s = 0.5;
  EXPECT_EQ(stalled_for(states), 0.5);
}

// It was silent before, as all are who wait; that does not count.
TEST(StallReport, AProcessThatDoesNotRunCountsFromWhenItWasStopped) {
  std::vector<RankState> states = {state(0, Phase::exchange, 9), state(1, Phase::exchange, 9)};
  states[0].silent_s = 1;
  states[1].silent_s = 100;
  states[1].stopped = true;
  states[1].stopped_s = 2;
  EXPECT_EQ(stalled_for(states), 2);
}

TEST(StallReport, ReadingDataMayTakeAnyTime) {
  std::vector<RankState> states = {state(0, Phase::starting, 0), state(1, Phase::starting, 0)};
  EXPECT_EQ(stalled_for(states), 0);
  states[1].place.phase = Phase::data;
  EXPECT_EQ(stalled_for(states), 3);
}

TEST(StallReport, TextIsReadBackAndNonsenseLeftOut) {
  const std::vector<RankState> states = {state(0, Phase::exchange, 9, 2), state(5, Phase::data, 8, -1, true)};
  EXPECT_EQ(parse_states(to_text(states) + "nonsense\n1 host 99 1 1 1 0 0\n\n"), states);
}

}  // namespace
}  // namespace kolo::comm::test
