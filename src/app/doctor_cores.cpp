// Whether every thread has a core and every core a thread.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor_wording.hpp"
#include "kolo/app/doctor_findings.hpp"

namespace kolo::app {
namespace {

std::vector<RankFacts> ranks_of(const DoctorFacts& facts, const HostFacts& host) {
  std::vector<RankFacts> ranks;
  std::ranges::copy_if(facts.ranks, std::back_inserter(ranks),
                       [&host](const RankFacts& rank) { return rank.first_rank == host.first_rank; });
  return ranks;
}

int threads_with_core(const std::vector<RankFacts>& ranks) {
  int threads = 0;
  for (const RankFacts& rank : ranks)
    threads += threads_with_core(rank);
  return threads;
}

// Whether some rank has more threads than cores; then nothing else about its host's cores can be judged.
bool judge_threads(const HostFacts& host, const std::vector<RankFacts>& ranks,
                   std::vector<Finding>& findings) {
  std::vector<int> crowded;
  std::string example;
  for (const RankFacts& rank : ranks) {
    const auto cores = static_cast<int>(rank.cores.size());
    if (rank.threads <= cores) continue;
    if (crowded.empty()) example = counted(rank.threads, "thread") + " on " + counted(cores, "core");
    crowded.push_back(rank.rank);
  }
  if (crowded.empty()) return false;
  findings.push_back(
      {Severity::error, "threads",
       fmt::format("{}: rank{} {} with more threads than cores ({}): they take turns", host.name,
                   crowded.size() == 1 ? "" : "s", ranges(crowded), example),
       "leave run.threads out: kolo then has a thread for each core; or give the ranks more cores"});
  return true;
}

// Ranks that may use a core that another one may use as well.
std::vector<RankFacts> overlapping(const std::vector<RankFacts>& ranks) {
  std::map<int, int> users;
  for (const RankFacts& rank : ranks) {
    for (const int core : rank.cores)
      ++users[core];
  }
  std::vector<RankFacts> shared;
  std::ranges::copy_if(ranks, std::back_inserter(shared), [&users](const RankFacts& rank) {
    return std::ranges::any_of(rank.cores, [&users](int core) { return users[core] > 1; });
  });
  return shared;
}

struct Crowd {
  std::vector<int> ranks;
  std::set<int> cores;
  int threads = 0;
};

Crowd crowd_of(const std::vector<RankFacts>& ranks) {
  Crowd crowd;
  for (const RankFacts& rank : ranks) {
    crowd.ranks.push_back(rank.rank);
    crowd.cores.insert(rank.cores.begin(), rank.cores.end());
    crowd.threads += threads_with_core(rank);
  }
  return crowd;
}

void judge_overlap(const HostFacts& host, const std::vector<RankFacts>& ranks, const std::string& binding,
                   std::vector<Finding>& findings) {
  const Crowd crowd = crowd_of(overlapping(ranks));
  if (crowd.ranks.empty()) return;
  const auto usable = static_cast<int>(host.machine.usable_cores.size());
  const std::string who =
      fmt::format("{}: ranks {} may use core{} {}", host.name, ranges(crowd.ranks),
                  crowd.cores.size() == 1 ? "" : "s", ranges({crowd.cores.begin(), crowd.cores.end()}));
  if (busy_cores(ranks) == threads_with_core(ranks)) {
    findings.push_back(
        {Severity::note, "not-pinned",
         who + " alike (" + binding + "): the threads have room but may move about",
         "leave out --bind-to none and comm.bind = none; kolo then gives each rank cores of its own"});
  } else if (host.ranks > usable) {
    findings.push_back({Severity::warning, "oversubscribed",
                        fmt::format("{}: {} on {}: they take turns", host.name, counted(host.ranks, "rank"),
                                    counted(usable, "core")),
                        fmt::format("start at most {} on this host (mpirun -n)", counted(usable, "rank"))});
  } else {
    findings.push_back({Severity::error, "shared-cores",
                        fmt::format("{} for {}, although this host has {} for the job ({})", who,
                                    counted(crowd.threads, "thread"), counted(usable, "core"), binding),
                        crowd.threads > usable ? fmt::format("set run.threads to {} at most, or leave it out",
                                                             std::max(1, usable / host.ranks))
                                               : "start without a binding of your own (--bind-to, --cpu-set, "
                                                 "taskset) and with comm.bind = auto"});
  }
}

void judge_idle(const HostFacts& host, const std::vector<RankFacts>& ranks, std::vector<Finding>& findings) {
  const auto usable = static_cast<int>(host.machine.usable_cores.size());
  const int busy = busy_cores(ranks);
  const int idle = usable - busy;
  const bool crowded = busy < threads_with_core(ranks);  // then that is what to mend
  if (idle <= 0 || crowded) return;
  const bool few_threads = std::ranges::any_of(
      ranks, [](const RankFacts& rank) { return rank.threads < static_cast<int>(rank.cores.size()); });
  findings.push_back(
      {Severity::warning, "idle-cores",
       fmt::format("{}: {} of {} compute nothing", host.name, idle, counted(usable, "core")),
       few_threads
           ? fmt::format("leave run.threads out or set it to {}; or start more ranks", usable / host.ranks)
           : "start without a binding of your own (--bind-to, --cpu-set, taskset) and with comm.bind = "
             "auto; or start more ranks"});
}

void judge_quota(const HostFacts& host, const std::vector<RankFacts>& ranks, std::vector<Finding>& findings) {
  const std::optional<double> quota = host.machine.limits.cpus;
  const int busy = busy_cores(ranks);
  if (!quota || *quota >= busy) return;
  findings.push_back({Severity::warning, "cpu-quota",
                      fmt::format("{}: the control group gives {:g} cores' worth of time, and {} compute: "
                                  "they are stopped for the rest of every period",
                                  host.name, *quota, counted(busy, "core")),
                      fmt::format("use {} (ranks x threads), or raise the quota (--cpus in containers)",
                                  counted(std::max(1, static_cast<int>(*quota)), "core"))});
}

}  // namespace

std::vector<Finding> judge_cores(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  for (const HostFacts& host : facts.hosts) {
    const std::vector<RankFacts> ranks = ranks_of(facts, host);
    if (!judge_threads(host, ranks, findings)) {
      judge_overlap(host, ranks, facts.launch.binding, findings);
      judge_idle(host, ranks, findings);
    }
    judge_quota(host, ranks, findings);
  }
  return findings;
}

}  // namespace kolo::app
