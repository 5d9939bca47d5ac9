// What was measured, held against the other ranks, and whether libtorch uses what the processor has.
#include <fmt/format.h>

#include <algorithm>

#include "kolo/app/doctor_findings.hpp"

namespace kolo::app {
namespace {

// Of the fastest rank; slower means that something else has the core, or that it is throttled.
constexpr double kSlow = 0.7;

// Ranks may have different numbers of cores; threads beyond them add nothing.
double speed_of_core(const RankFacts& rank) {
  return rank.speed.product_fp32 / std::max(1, threads_with_core(rank));
}

void judge_ranks(const DoctorFacts& facts, std::vector<Finding>& findings) {
  constexpr double kGiga = 1e9;
  double fastest = 0;
  for (const RankFacts& rank : facts.ranks)
    fastest = std::max(fastest, speed_of_core(rank));
  for (const RankFacts& rank : facts.ranks) {
    if (speed_of_core(rank) >= kSlow * fastest) continue;
    findings.push_back(
        {Severity::warning, "slow-rank",
         fmt::format("rank {} on {} (cores {}) computes {:.1f} GFLOP/s a core, the fastest rank {:.1f}: "
                     "every step waits for it",
                     rank.rank, rank.host, rank.core_list, speed_of_core(rank) / kGiga, fastest / kGiga),
         "look for another program or rank on these cores, or for a processor that is throttled (heat, "
         "power)"});
  }
}

void judge_capability(const DoctorFacts& facts, std::vector<Finding>& findings) {
  for (const HostFacts& host : facts.hosts) {
    const auto plain = std::ranges::find_if(facts.ranks, [&host](const RankFacts& rank) {
      return rank.first_rank == host.first_rank && rank.capability == "DEFAULT";
    });
    if (!host.machine.has_avx2 || plain == facts.ranks.end()) continue;
    const std::string& asked = facts.torch.asked_capability;
    findings.push_back(
        {Severity::error, "cpu-capability",
         fmt::format("{}: libtorch computes without vector instructions although the processor has AVX2{}",
                     host.name, asked.empty() ? "" : fmt::format(" (ATEN_CPU_CAPABILITY={})", asked)),
         asked.empty() ? "use a libtorch built with them" : "unset ATEN_CPU_CAPABILITY"});
  }
}

void judge_exchanges(const DoctorFacts& facts, std::vector<Finding>& findings) {
  for (const ExchangeFacts& exchange : facts.exchanges) {
    if (!exchange.failure.empty()) {
      findings.push_back(
          {Severity::error, "exchange",
           fmt::format("exchange {} does not work here: {}", exchange.strategy, exchange.failure),
           "set comm.strategy to the other one, or mend what it says"});
    } else if (!exchange.correct) {
      findings.push_back(
          {Severity::error, "wrong-sums",
           fmt::format("exchange {} gives sums that differ from MPI_Allreduce's", exchange.strategy),
           "do not train here: memory, network or MPI may be damaged; try another comm.strategy "
           "and other transports (--mca btl)"});
    }
  }
}

}  // namespace

std::vector<Finding> judge_speed(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  judge_exchanges(facts, findings);
  judge_ranks(facts, findings);
  judge_capability(facts, findings);
  for (const HostFacts& host : facts.hosts) {
    if (host.machine.huge_pages != "never") continue;
    findings.push_back(
        {Severity::note, "huge-pages",
         host.name + ": programs may not ask for huge pages, which spare a few per cent of a step",
         "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)"});
  }
  return findings;
}

}  // namespace kolo::app
