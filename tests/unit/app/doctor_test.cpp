// kolo doctor's judgement, on machines made up for the purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "kolo/app/doctor_findings.hpp"
#include "kolo/app/doctor_report.hpp"

namespace kolo::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::vector<int> range(int begin, int end) {
  std::vector<int> values(static_cast<std::size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

RankFacts rank_on(std::vector<int> cores, int threads) {
  RankFacts rank;
  rank.host = "node0";
  rank.cores = std::move(cores);
  rank.threads = threads;
  rank.capability = "AVX512";
  const double busy = static_cast<double>(std::min(rank.cores.size(), static_cast<std::size_t>(threads)));
  rank.speed = {busy * 1e11, busy * 2e11, busy * 1e11, busy * 2e11};
  return rank;
}

// One host without a fault, but for what `ranks` bring.
DoctorFacts facts_of(int cores, std::vector<RankFacts> ranks) {
  DoctorFacts facts;
  HostFacts host;
  host.name = "node0";
  host.ranks = static_cast<int>(ranks.size());
  host.machine.usable_cores = range(0, cores);
  host.machine.has_avx2 = true;
  host.machine.huge_pages = "madvise";
  host.shared_memory = {1024 * kMiB, 1000 * kMiB, {}};
  host.mpi.multithreaded = true;
  facts.hosts = {host};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i].rank = static_cast<int>(i);
  facts.ranks = std::move(ranks);
  return facts;
}

DoctorFacts healthy() { return facts_of(4, {rank_on({0, 1}, 2), rank_on({2, 3}, 2)}); }

// A rank on each.
DoctorFacts two_hosts() {
  DoctorFacts facts = facts_of(1, {rank_on({0}, 1), rank_on({0}, 1)});
  facts.hosts[0].ranks = 1;
  facts.hosts.push_back(facts.hosts[0]);
  facts.hosts[1].name = facts.ranks[1].host = "node1";
  facts.hosts[1].first_rank = facts.ranks[1].first_rank = 1;
  return facts;
}

std::vector<std::string> names(const std::vector<Finding>& findings) {
  std::vector<std::string> list;
  for (const Finding& finding : findings)
    list.push_back(name_of(finding.severity) + " " + finding.name);
  return list;
}

std::vector<std::string> judged(const DoctorFacts& facts) { return names(judge(facts)); }

TEST(Doctor, AHealthyMachineHasNoFindings) { EXPECT_THAT(judged(healthy()), IsEmpty()); }

TEST(Doctor, EveryFindingSaysWhatToDo) {
  DoctorFacts facts = facts_of(4, {rank_on({0}, 1), rank_on({0}, 1)});
  facts.hosts[0].shared_memory.free_bytes = kMiB;
  facts.hosts[0].machine.gpus = 1;
  facts.hosts[0].mpi.multithreaded = false;
  const std::vector<Finding> findings = judge(facts);
  EXPECT_EQ(findings.size(), 4U) << testing::PrintToString(names(findings));
  for (const Finding& finding : findings) {
    EXPECT_NE(finding.text, "") << finding.name;
    EXPECT_NE(finding.fix, "") << finding.name;
  }
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater<>(), &Finding::severity));
}

TEST(DoctorCores, MoreThreadsThanCoresIsAnError) {
  const auto findings = judge(facts_of(4, {rank_on({0, 1}, 8), rank_on({2, 3}, 2)}));
  ASSERT_THAT(names(findings), ElementsAre("error threads"));
  EXPECT_THAT(findings[0].text, HasSubstr("rank 0 with more threads than cores (8 threads on 2 cores)"));
}

TEST(DoctorCores, MoreThreadsThanCoresIsOneErrorForAllRanksOfAHost) {
  const auto findings = judge(facts_of(2, {rank_on({0, 1}, 8), rank_on({0, 1}, 8)}));
  ASSERT_THAT(names(findings), ElementsAre("error threads"));
  EXPECT_THAT(findings[0].text, HasSubstr("ranks 0-1"));
}

TEST(DoctorCores, ThreadsThatMustShareACoreAreAnErrorWhereCoresAreFree) {
  const auto findings = judge(facts_of(2, {rank_on({0}, 1), rank_on({0}, 1)}));
  ASSERT_THAT(names(findings), ElementsAre("error shared-cores"));
  EXPECT_THAT(findings[0].text, HasSubstr("ranks 0-1 may use core 0"));
}

TEST(DoctorCores, TooManyThreadsOfUnpinnedRanksAreAnError) {
  EXPECT_THAT(judged(facts_of(2, {rank_on({0, 1}, 2), rank_on({0, 1}, 2)})),
              ElementsAre("error shared-cores"));
}

TEST(DoctorCores, UnpinnedRanksWithRoomAreANote) {
  EXPECT_THAT(judged(facts_of(2, {rank_on({0, 1}, 1), rank_on({0, 1}, 1)})), ElementsAre("note not-pinned"));
}

TEST(DoctorCores, MoreRanksThanCoresIsAWarning) {
  EXPECT_THAT(judged(facts_of(2, {rank_on({0}, 1), rank_on({1}, 1), rank_on({0}, 1)})),
              ElementsAre("warning oversubscribed"));
}

TEST(DoctorCores, CoresThatNoRankMayUseAreAWarning) {
  const auto findings = judge(facts_of(16, {rank_on({0}, 1), rank_on({1}, 1)}));
  ASSERT_THAT(names(findings), ElementsAre("warning idle-cores"));
  EXPECT_THAT(findings[0].text, HasSubstr("14 of 16 cores"));
}

TEST(DoctorCores, CoresWithoutAThreadAreAWarning) {
  const auto findings = judge(facts_of(8, {rank_on(range(0, 4), 1), rank_on(range(4, 8), 4)}));
  ASSERT_THAT(names(findings), ElementsAre("warning idle-cores"));
  EXPECT_THAT(findings[0].fix, HasSubstr("run.threads"));
}

TEST(DoctorCores, ThreadsMoveAsideForThoseThatHaveNoOtherCore) {
  EXPECT_EQ(busy_cores({rank_on({0, 1, 2}, 2), rank_on({0}, 1), rank_on({1, 5}, 1)}), 4);
  EXPECT_EQ(busy_cores({rank_on({0, 1, 2}, 2), rank_on({0}, 1), rank_on({1}, 1)}), 3);
}

TEST(DoctorCores, RanksOfDifferentHostsDoNotShare) { EXPECT_THAT(judged(two_hosts()), IsEmpty()); }

TEST(DoctorCores, AQuotaBelowTheBusyCoresIsAWarning) {
  DoctorFacts facts = healthy();
  facts.hosts[0].machine.limits.cpus = 3.5;
  EXPECT_THAT(judged(facts), ElementsAre("warning cpu-quota"));
  facts.hosts[0].machine.limits.cpus = 4;
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorLaunch, AnotherMajorVersionOfMpiIsAnError) {
  DoctorFacts facts = healthy();
  facts.hosts[0].mpi.header_major = 4;
  facts.hosts[0].mpi.library_major = 5;
  EXPECT_THAT(judged(facts), ElementsAre("error mpi-version"));
  facts.hosts[0].mpi.library_major = 0;  // not known
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorLaunch, TheMpiOfEveryHostIsJudged) {
  DoctorFacts facts = two_hosts();
  facts.hosts[1].mpi.header_major = 4;
  facts.hosts[1].mpi.library_major = 5;
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("error mpi-version"));
  EXPECT_THAT(findings[0].text, HasSubstr("node1"));
}

TEST(DoctorLaunch, AThreadLevelBelowMultipleIsANote) {
  DoctorFacts facts = healthy();
  facts.hosts[0].mpi.multithreaded = false;
  EXPECT_THAT(judged(facts), ElementsAre("note mpi-threads"));
}

TEST(DoctorLaunch, MissingSingleCopyIsANoteWhereRanksShareANode) {
  DoctorFacts facts = healthy();
  facts.hosts[0].mpi.single_copy = "none";
  facts.hosts[0].mpi.ptrace_scope = 1;
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("note single-copy"));
  EXPECT_THAT(findings[0].fix, HasSubstr("ptrace_scope"));
  facts.hosts[0].mpi.single_copy = "cma";
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorLaunch, AnOmpVariableThatKoloDoesNotFollowIsANote) {
  DoctorFacts facts = healthy();
  facts.ranks[1].omp_num_threads = "1";
  EXPECT_THAT(judged(facts), ElementsAre("note omp-num-threads"));
  facts.ranks[1].omp_num_threads = "2";
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorLaunch, GpusThatThisBuildCannotUseAreANote) {
  DoctorFacts facts = healthy();
  facts.hosts[0].machine.gpus = 8;
  EXPECT_THAT(judged(facts), ElementsAre("note gpus"));
}

TEST(DoctorLaunch, ADeckWithoutAModelIsAWarning) {
  DoctorFacts facts = healthy();
  facts.deck_problem = "no such file";
  EXPECT_THAT(judged(facts), ElementsAre("warning deck"));
}

TEST(DoctorSharedMemory, AWindowWithoutRoomIsAWarningThatSaysWhy) {
  DoctorFacts facts = healthy();
  facts.hosts[0].lacks_room = "too little";
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("warning shared-memory"));
  EXPECT_THAT(findings[0].text, HasSubstr("falls back to allreduce: too little"));
}

TEST(DoctorSharedMemory, HardlyAnyRoomIsAnError) {
  DoctorFacts facts = healthy();
  facts.hosts[0].shared_memory.free_bytes = 64 * kMiB - 1;
  facts.hosts[0].lacks_room = "too little";
  EXPECT_THAT(judged(facts), ElementsAre("error shared-memory"));
}

TEST(DoctorSharedMemory, ASingleRankSharesNothing) {
  DoctorFacts facts = facts_of(2, {rank_on({0, 1}, 2)});
  facts.hosts[0].shared_memory.free_bytes = 0;
  facts.hosts[0].lacks_room = "too little";
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorSharedMemory, LeftOverFilesAreAWarningThatNamesEachOfThem) {
  DoctorFacts facts = healthy();
  facts.hosts[0].shared_memory.left_over = {{"/dev/shm/a", 3 * kMiB}, {"/dev/shm/b", kMiB}};
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("warning left-over"));
  EXPECT_THAT(findings[0].text, HasSubstr("4.0 MiB"));
  EXPECT_EQ(findings[0].fix, "if no job of yours runs on this node: rm /dev/shm/a /dev/shm/b");
}

TEST(DoctorSpeed, ARankFarBelowTheFastestIsAWarningThatNamesIt) {
  DoctorFacts facts = facts_of(2, {rank_on({0}, 1), rank_on({1}, 1)});
  facts.ranks[1].speed.product_fp32 = facts.ranks[0].speed.product_fp32 * 0.69;
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("warning slow-rank"));
  EXPECT_THAT(findings[0].text, HasSubstr("rank 1 on node0"));
  facts.ranks[1].speed.product_fp32 = facts.ranks[0].speed.product_fp32 * 0.71;
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorSpeed, RanksWithFewerCoresAreNotSlow) {
  EXPECT_THAT(judged(facts_of(3, {rank_on({0, 1}, 2), rank_on({2}, 1)})), IsEmpty());
}

TEST(DoctorSpeed, LibtorchWithoutVectorInstructionsIsAnError) {
  DoctorFacts facts = healthy();
  facts.ranks[0].capability = "DEFAULT";
  facts.torch.asked_capability = "default";
  const auto findings = judge(facts);
  ASSERT_THAT(names(findings), ElementsAre("error cpu-capability"));
  EXPECT_THAT(findings[0].fix, HasSubstr("ATEN_CPU_CAPABILITY"));
  facts.hosts[0].machine.has_avx2 = false;
  EXPECT_THAT(judged(facts), IsEmpty());
}

TEST(DoctorSpeed, WrongSumsAndFailedExchangesAreErrors) {
  DoctorFacts facts = healthy();
  facts.exchanges = {{"shared", "no room", true, 0, 0}, {"allreduce", "", false, 1e-3, 1e9}};
  EXPECT_THAT(judged(facts), ElementsAre("error exchange", "error wrong-sums"));
}

TEST(DoctorSpeed, ForbiddenHugePagesAreANote) {
  DoctorFacts facts = healthy();
  facts.hosts[0].machine.huge_pages = "never";
  EXPECT_THAT(judged(facts), ElementsAre("note huge-pages"));
}

TEST(DoctorReport, Bf16IsComparedWithFp32) {
  const auto text = [](double factor) {
    DoctorFacts facts = healthy();
    for (RankFacts& rank : facts.ranks)
      rank.speed = {1e11, factor * 1e11, 1e11, factor * 1e11};
    return testing::PrintToString(describe(facts));
  };
  EXPECT_THAT(text(2.6), HasSubstr("bf16 is 2.6x of fp32 here"));
  EXPECT_THAT(text(0.5), HasSubstr("bf16 is 0.5x of fp32 here"));
  EXPECT_THAT(text(0.0), HasSubstr("not measured"));
}

TEST(DoctorReport, JsonHoldsEverySection) {
  DoctorFacts facts = facts_of(2, {rank_on({0, 1}, 8)});
  facts.hosts[0].machine.limits.cpus = 2.5;
  const auto json = nlohmann::json::parse(to_json(facts, judge(facts)));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["hosts"][0]["machine"]["limits"]["cpus"], 2.5);
  EXPECT_TRUE(json["hosts"][0]["machine"]["limits"]["memory_bytes"].is_null());
  EXPECT_EQ(json["ranks"][0]["threads"], 8);
  EXPECT_EQ(json["shared_memory"]["hosts"][0]["free_bytes"], 1000 * kMiB);
  EXPECT_EQ(json["speed"]["ranks"][0]["product_fp32"], 2e11);
  EXPECT_EQ(json["findings"][0]["name"], "threads");
  for (const char* section : {"mpi", "launch", "libtorch"})
    EXPECT_TRUE(json.at(section).is_object()) << section;
}

TEST(DoctorReport, AHostWithAnotherMpiHasALineOfItsOwn) {
  DoctorFacts facts = two_hosts();
  EXPECT_THAT(describe(facts), Not(Contains(HasSubstr("node1: Other MPI"))));
  facts.hosts[1].mpi.library = "Other MPI";
  EXPECT_THAT(describe(facts), Contains(HasSubstr("node1: Other MPI")));
}

TEST(DoctorReport, HiddenProcessesLeaveItOpenWhatIsLeftOver) {
  DoctorFacts facts = healthy();
  EXPECT_THAT(describe(facts), Contains(HasSubstr("left over from dead runs: nothing")));
  facts.hosts[0].shared_memory.hidden_processes = 2;
  EXPECT_THAT(describe(facts), Contains(HasSubstr("left over from dead runs: unknown (2 processes")));
}

TEST(DoctorReport, ErrorsAreNamedOnce) {
  const std::vector<Finding> findings = {{Severity::error, "a", "", ""},
                                         {Severity::error, "b", "", ""},
                                         {Severity::error, "a", "", ""},
                                         {Severity::warning, "c", "", ""}};
  EXPECT_THAT(errors_among(findings), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace kolo::app
