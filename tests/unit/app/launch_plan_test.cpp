#include "kolo/app/launch_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kolo/app/launch_plan_jobs.hpp"
#include "kolo/app/launch_plan_lines.hpp"
#include "kolo/app/launch_plan_report.hpp"

namespace kolo::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

PlanRow measured(int ranks, int threads, double rate) {
  PlanRow row;
  row.combination = {ranks, threads};
  row.global_batch = 128;
  row.attempt = Attempt::measured;
  row.samples_per_s = rate;
  return row;
}

PlanRow failed(int ranks, int threads) {
  PlanRow row = measured(ranks, threads, 1000);  // half read
  row.attempt = Attempt::failed;
  row.reason = "it rained";
  return row;
}

std::vector<Combination> pairs(std::initializer_list<std::pair<int, int>> list) {
  std::vector<Combination> all;
  for (const auto& [ranks, threads] : list)
    all.push_back({ranks, threads});
  return all;
}

TEST(Combinations, AreTheDivisors) {
  EXPECT_EQ(combinations(1), pairs({{1, 1}}));
  EXPECT_EQ(combinations(2), pairs({{1, 2}, {2, 1}}));
  EXPECT_EQ(combinations(12), pairs({{1, 12}, {2, 6}, {3, 4}, {4, 3}, {6, 2}, {12, 1}}));
  EXPECT_EQ(combinations(16), pairs({{1, 16}, {2, 8}, {4, 4}, {8, 2}, {16, 1}}));
}

TEST(Combinations, OfOddNumbersHaveSomethingBetween) {
  EXPECT_EQ(combinations(7), pairs({{1, 7}, {2, 3}, {4, 1}, {7, 1}}));
  EXPECT_EQ(combinations(13), pairs({{1, 13}, {2, 6}, {4, 3}, {8, 1}, {13, 1}}));
  EXPECT_EQ(combinations(9), pairs({{1, 9}, {2, 4}, {3, 3}, {4, 2}, {8, 1}, {9, 1}}));
}

TEST(Combinations, NeverAskForMoreCoresThanThereAre) {
  for (int cores = 1; cores <= 256; ++cores) {
    const std::vector<Combination> all = combinations(cores);
    EXPECT_EQ(all.front(), (Combination{1, cores}));
    EXPECT_EQ(all.back(), (Combination{cores, 1}));
    for (const Combination& one : all) {
      EXPECT_GE(one.threads, 1);
      EXPECT_LE(one.ranks * one.threads, cores);
      EXPECT_GT((one.threads + 1) * one.ranks, cores);
    }
  }
}

TEST(PlanRows, SkipsRanksWithoutSamples) {
  config::TrainSection train;
  train.global_batch = 2;
  const std::vector<PlanRow> rows = plan_rows(4, train);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].attempt, Attempt::planned);
  EXPECT_EQ(rows[1].global_batch, 2);
  EXPECT_EQ(rows[2].attempt, Attempt::skipped);
  EXPECT_THAT(rows[2].reason, HasSubstr("train.global_batch = 2"));
}

TEST(PlanRows, ABatchPerRankGrowsWithTheRanks) {
  config::TrainSection train;
  train.batch_per_rank = 32;
  train.accumulate = 2;
  std::vector<std::int64_t> batches;
  for (const PlanRow& row : plan_rows(4, train))
    batches.push_back(row.global_batch);
  EXPECT_THAT(batches, ElementsAre(64, 128, 256));
}

TEST(Ranked, PutsTheFastestFirstAndTheUnmeasuredLast) {
  const std::vector<PlanRow> rows = ranked({failed(1, 4), measured(2, 2, 10), measured(4, 1, 30)});
  EXPECT_EQ(rows[0].samples_per_s, 30);
  EXPECT_EQ(rows[1].samples_per_s, 10);
  EXPECT_EQ(rows[2].attempt, Attempt::failed);
}

TEST(Advised, IsTheFastest) {
  const std::vector<PlanRow> rows = ranked({measured(1, 4, 90), measured(2, 2, 97), measured(4, 1, 100)});
  EXPECT_EQ(advised(rows).combination, (Combination{4, 1}));
}

TEST(Advised, IsTheOneWithFewestRanksOfEquals) {
  const std::vector<PlanRow> rows = ranked({measured(1, 4, 98.5), measured(2, 2, 99), measured(4, 1, 100)});
  EXPECT_EQ(advised(rows).combination, (Combination{1, 4}));
}

TEST(Advised, IsNeverOneThatFailed) {
  const std::vector<PlanRow> rows = ranked({failed(1, 4), measured(4, 1, 100)});
  EXPECT_EQ(advised(rows).combination, (Combination{4, 1}));
}

constexpr comm::UsableCores kSixteen{.mine = 16, .threads = 16, .of_job = 16};

LaunchSite mpirun_site(const comm::UsableCores& usable = kSixteen, double quota = 0,
                       const SlurmAllocation& slurm = {}) {
  return find_site(config::Launcher::mpirun, usable, quota, slurm);
}
LaunchSite srun_site(const comm::UsableCores& usable, const SlurmAllocation& slurm) {
  return find_site(config::Launcher::srun, usable, 0, slurm);
}

config::CommandLine typed(const std::string& input, const std::vector<std::string>& sets) {
  config::CommandLine line;
  line.input = input;
  line.sets = sets;
  return line;
}

std::string job_line(const LaunchSite& site, const JobTemplate& job, const Combination& combination) {
  return shell_line(job_words(site, job, combination));
}
std::string launch(const LaunchSite& site, const config::CommandLine& line, const Combination& combination) {
  return advised_line(site, "kolo", line, config::load_config(line, std::nullopt), combination);
}

TEST(FindSite, TakesNoMoreThanTheControlGroupGrants) {
  EXPECT_EQ(mpirun_site(kSixteen, 2.5).cores, 2);
  EXPECT_EQ(mpirun_site(kSixteen, 0.5).cores, 1);
  EXPECT_EQ(mpirun_site(kSixteen, 64).cores, 16);
}

TEST(FindSite, OfSrunNeedsAnAllocation) {
  EXPECT_THROW(srun_site(kSixteen, {}), CommError);
  EXPECT_EQ(srun_site(kSixteen, {.inside = true, .cpus = 16}).cores, 16);
}

TEST(FindSite, OfSrunOnALoginNodeBelievesSlurm) {
  const LaunchSite site = srun_site({.mine = 4, .threads = 8, .of_job = 4}, {.inside = true, .cpus = 64});
  EXPECT_EQ(site.cores, 64);
  EXPECT_EQ(site.cpus_per_core, 1);
}

TEST(LaunchLines, MpirunGetsAsLittleAsCanBe) {
  JobTemplate job = {"/opt/kolo", {}, 0};
  job.line.steps = 3;
  job.line.warmup = 1;
  EXPECT_EQ(job_line(mpirun_site(), job, {4, 4}),
            "mpirun -n 4 /opt/kolo bench train --set run.threads=4 --steps 3 --warmup 1");
}

TEST(LaunchLines, DeckAndSetsArePassedOn) {
  const JobTemplate job = {"kolo", typed("my deck.ini", {"model.name=mlp"}), 128};
  EXPECT_THAT(job_line(mpirun_site(), job, {2, 8}),
              HasSubstr("--input 'my deck.ini' --set model.name=mlp --set train.global_batch=128 "
                        "--set run.threads=8 "));
}

TEST(LaunchLines, ASetThreadCountIsReplaced) {
  const JobTemplate job = {"kolo", typed("", {" run.threads = 3", "run.seed=2"}), 0};
  const std::string line = job_line(mpirun_site(), job, {2, 8});
  EXPECT_THAT(line, HasSubstr("--set run.seed=2 --set run.threads=8"));
  EXPECT_THAT(line, Not(HasSubstr("= 3")));
}

TEST(LaunchLines, SlotsOfAnAllocationMayBeFewerThanCores) {
  const LaunchSite site = mpirun_site(kSixteen, 0, {.inside = true});
  EXPECT_THAT(job_line(site, {}, {4, 4}), HasSubstr("mpirun --oversubscribe -n 4 "));
}

TEST(LaunchLines, RanksOfABoundPlanStayOnItsCores) {
  const LaunchSite site = mpirun_site({.mine = 4, .threads = 4, .of_job = 16});
  EXPECT_EQ(site.cores, 4);
  EXPECT_THAT(job_line(site, {}, {2, 2}), HasSubstr("mpirun --bind-to none -n 2 "));
}

TEST(LaunchLines, SrunCountsHardwareThreads) {
  const SlurmAllocation two_nodes = {.inside = true, .cpus = 32, .nodes = 2};
  const LaunchSite site = srun_site({.mine = 16, .threads = 32, .of_job = 16}, two_nodes);
  EXPECT_THAT(job_line(site, {}, {4, 4}), HasSubstr("srun -N 1 -n 4 -c 8 --cpu-bind=cores "));
}

TEST(AdvisedLine, LeavesTheThreadsToAnEvenShare) {
  const config::CommandLine line = typed("deck.ini", {});
  const config::LoadedConfig loaded;
  EXPECT_EQ(advised_line(mpirun_site(), "./kolo", line, loaded, {2, 8}),
            "mpirun -n 2 ./kolo --input deck.ini");
}

TEST(AdvisedLine, SaysTheThreadsWhereTheShareIsAnother) {
  const std::string threads = "--set run.threads=3";
  EXPECT_THAT(launch(mpirun_site({7, 7, 7}), {}, {2, 3}), HasSubstr(threads));
  EXPECT_THAT(launch(mpirun_site(kSixteen, 6), {}, {2, 3}), HasSubstr(threads));
  EXPECT_THAT(launch(mpirun_site({6, 6, 6}), typed("", {"comm.bind=keep"}), {2, 3}), HasSubstr(threads));
  const std::string replaced = launch(mpirun_site({6, 6, 6}), typed("", {"run.threads=1"}), {2, 3});
  EXPECT_EQ(replaced, "mpirun -n 2 kolo " + threads);
}

TEST(AdvisedLine, IsAnInputOfTheUsersWithoutADeck) {
  EXPECT_EQ(launch(mpirun_site(), {}, {2, 8}), "mpirun -n 2 kolo --input deck.ini");
  EXPECT_EQ(launch(mpirun_site(), typed("", {"model.name=mlp"}), {2, 8}),
            "mpirun -n 2 kolo --set model.name=mlp");
}

TEST(ShellLine, QuotesWhatAShellWouldChange) {
  const std::vector<std::string> words = {"a", "", "b c", "it's", "$x", "k=1,2"};
  EXPECT_EQ(shell_line(words), R"(a '' 'b c' 'it'\''s' '$x' k=1,2)");
}

util::ProgramResult ended(int code, const std::string& output) {
  util::ProgramResult result;
  result.exit_code = code;
  result.output = output;
  return result;
}

TEST(ReadResults, TakesTheNumbersOfTheBench) {
  const std::string json =
      R"({"samples_per_s": 10.5, "step_ms": 2.5, "exchange_ms": 0.5, "update_ms": 0.25, "ranks": 2})";
  const PlanRow row = read_results({}, ended(0, "chatter"), json);
  EXPECT_EQ(row.attempt, Attempt::measured);
  EXPECT_EQ(row.samples_per_s, 10.5);
  EXPECT_EQ(row.step_ms, 2.5);
  EXPECT_EQ(row.exchange_ms, 0.5);
  EXPECT_EQ(row.update_ms, 0.25);
}

TEST(ReadResults, AFailedJobHasNoneWhateverItWrote) {
  const std::string json = R"({"samples_per_s": 1, "step_ms": 1, "exchange_ms": 1, "update_ms": 1})";
  EXPECT_EQ(read_results({}, ended(0, ""), json).attempt, Attempt::measured);
  EXPECT_EQ(read_results({}, ended(1, ""), json).attempt, Attempt::failed);
}

TEST(ReadResults, QuotesKolosOwnErrorWithItsCode) {
  const PlanRow row = read_results({}, ended(3, "hello\nkolo: error[3]: no such set\n  hint\n-----\n"), "");
  EXPECT_EQ(row.attempt, Attempt::failed);
  EXPECT_EQ(row.failure, ExitCode::data);
  EXPECT_EQ(row.reason, "no such set");
}

TEST(ReadResults, ElseSaysHowItEndedAndItsLastWords) {
  const PlanRow code = read_results({}, ended(213, "looking\nfound no cores\n\n"), "");
  EXPECT_EQ(code.reason, "exit code 213: found no cores");
  EXPECT_EQ(code.failure, ExitCode::comm);
  util::ProgramResult killed;
  killed.signal = 9;
  EXPECT_EQ(read_results({}, killed, "").reason, "ended by signal 9 and no word");
}

TEST(ReadResults, QuotesTheReasonOfAFramedMessage) {
  const std::string rule(40, '-');
  const std::string framed =
      rule + "\nThere are not enough slots for the 4\nthat were asked for:\n\nAsk for fewer.\n" + rule + "\n";
  EXPECT_EQ(read_results({}, ended(1, framed), "").reason,
            "exit code 1: There are not enough slots for the 4 that were asked for:");
}

TEST(ReadResults, WithoutNumbersIsAFailure) {
  for (const std::string json : {"", "{", "[]", "{}", R"({"samples_per_s": "fast"})"}) {
    const PlanRow row = read_results({}, ended(0, "done\n"), json);
    EXPECT_EQ(row.attempt, Attempt::failed) << json;
    EXPECT_EQ(row.reason, "ended without results: done");
  }
}

TEST(PlanTable, ShowsEveryRowAndWhyOnesAreMissing) {
  const std::vector<std::string> lines =
      table(ranked({failed(1, 2), measured(2, 1, 50), measured(4, 1, 100)}));
  EXPECT_THAT(lines[1], HasSubstr("100.0 %"));
  EXPECT_THAT(lines[2], HasSubstr("50.0 %"));
  EXPECT_THAT(lines[3], HasSubstr("failed"));
  EXPECT_EQ(lines[4], "  1 rank x 2 threads failed: it rained");
}

TEST(PlanNotes, SayThatGlobalBatchesDiffer) {
  config::LoadedConfig loaded;
  EXPECT_THAT(notes({}, loaded, 0), testing::IsEmpty());
  loaded.config.train.batch_per_rank = 64;
  EXPECT_THAT(notes({}, loaded, 0), Contains(HasSubstr("grows")));
  loaded.config.train.global_batch = 128;
  EXPECT_THAT(notes({}, loaded, 0), testing::IsEmpty());
}

TEST(PlanAdvice, SaysWhenTheFastestIsNotChosen) {
  const auto text = [](const std::vector<PlanRow>& rows) { return advice(rows, "mpirun")[0]; };
  EXPECT_THAT(text(ranked({measured(1, 2, 99), measured(2, 1, 100)})), HasSubstr("less memory"));
  EXPECT_THAT(text(ranked({measured(1, 2, 90), measured(2, 1, 100)})), Not(HasSubstr("less memory")));
}

TEST(PlanJson, HasNumbersOrAnErrorInEachRow) {
  const auto json =
      nlohmann::json::parse(to_json(mpirun_site(), ranked({failed(1, 2), measured(2, 1, 5)}), "mpirun x"));
  EXPECT_EQ(json["cores"], 16);
  EXPECT_EQ(json["launcher"], "mpirun");
  EXPECT_EQ(json["advice"], "mpirun x");
  EXPECT_EQ(json["rows"][0]["samples_per_s"], 5);
  EXPECT_TRUE(json["rows"][0]["error"].is_null());
  EXPECT_TRUE(json["rows"][1]["samples_per_s"].is_null());
  EXPECT_EQ(json["rows"][1]["error"], "it rained");
}

}  // namespace
}  // namespace kolo::app
