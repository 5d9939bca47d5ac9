#include "kolo/app/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "kolo/app/failure.hpp"
#include "kolo/util/deadline.hpp"
#include "kolo/util/process_memory.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// How long each of these may take: standard error, summary.json, log.txt or the abort may be what hangs.
constexpr double kWordsSeconds = 5;
constexpr double kAbortSeconds = 10;

void print_if_possible(const RunContext& run, const util::ErrorText& failure) {
  util::finishes_within(kWordsSeconds, [&run, failure] { print_error_line(run, failure); });
  util::finishes_within(kWordsSeconds, [&run, failure] { note_in_summary(run, failure); });
  util::finishes_within(kWordsSeconds, [failure] { log_failure(failure); });
}

// MPI may be called from this thread only at the highest level; elsewhere the launcher ends the others when
// this process is gone.
[[noreturn]] void end_job(const RunContext& run) {
  // An abort that hangs in what the main thread holds must not keep the process.
  std::thread([] {
    sleep_s(kAbortSeconds);
    std::_Exit(static_cast<int>(ExitCode::comm));
  }).detach();
  if (run.mpi->thread_level() >= MPI_THREAD_MULTIPLE) run.mpi->abort(ExitCode::comm);
  std::_Exit(static_cast<int>(ExitCode::comm));
}

// The launcher usually ends a job of which a process died; what it prints should stand behind ours, and its
// code be the job's.
constexpr double kLauncherSeconds = 3;

util::ErrorText describe_death(const RunContext& run, const comm::RankState& dead, bool out_of_memory) {
  const std::string what =
      name_rank(run, dead.rank) + "the process has ended, in " + comm::describe(dead.place);
  if (out_of_memory)
    return {ExitCode::comm, what + "; probably out of memory",
            "the kernel has ended a process of this machine for that since the start; kolo check estimates "
            "what a rank needs"};
  return {ExitCode::comm, what,
          "a signal or a crash: the launcher says which; --resume auto goes on from the last checkpoint"};
}

void on_death(const RunContext& run, const comm::RankState& dead, std::int64_t kills_before) {
  if (run.mpi->board().claim_error_line()) {
    const bool out_of_memory = util::out_of_memory_kills().value_or(0) > kills_before;
    print_if_possible(run, describe_death(run, dead, out_of_memory));
  }
  sleep_s(kLauncherSeconds);
  end_job(run);
}

void on_give_up(const RunContext& run, const std::string& message, const std::vector<std::string>& ranks,
                int turn) {
  // Where a node before this one speaks, its abort ends this one as well.
  constexpr int kMostTurns = 3;
  sleep_s(std::min(turn, kMostTurns) * 2 * kLauncherSeconds);
  if (run.mpi->board().claim_error_line()) {
    const double seconds = 2 * run.loaded.config.comm.timeout;
    print_if_possible(run, {ExitCode::comm,
                            fmt::format("{}: nothing moved for {:g} s (2 x comm.timeout)", message, seconds),
                            util::join(ranks, "\n") + "\n--resume auto goes on from the last checkpoint"});
  }
  end_job(run);
}

void warn(const RunContext& run, const std::string& message) {
  const std::string line = fmt::format("kolo: warning: {}: nothing moved for {:g} s (comm.timeout)\n",
                                       message, run.loaded.config.comm.timeout);
  util::finishes_within(kWordsSeconds, [&run, line] { write_to_standard_error(run, line); });
}

}  // namespace

void start_watchdog(RunContext& run) {
  const comm::Communicator& node = run.mpi->node();
  comm::Watchdog::Setup setup;
  setup.timeout = run.config().comm.timeout;
  setup.own = node.rank();
  for (const std::int64_t rank : node.all_gather(static_cast<std::int64_t>(run.world().rank())))
    setup.ranks.push_back(static_cast<int>(rank));
  setup.host = run.mpi->host();
  const std::vector<std::int64_t> first = run.world().all_gather(static_cast<std::int64_t>(setup.ranks[0]));
  for (int rank = 0; rank < run.world().size(); ++rank) {
    if (first[static_cast<std::size_t>(rank)] != rank) continue;
    setup.nodes.push_back({rank, run.mpi->hosts()[static_cast<std::size_t>(rank)]});
  }
  comm::Watchdog::Callbacks callbacks;
  callbacks.warn = [&run](const std::string& message) { warn(run, message); };
  callbacks.died = [&run, kills = util::out_of_memory_kills().value_or(0)](const comm::RankState& dead) {
    on_death(run, dead, kills);
  };
  callbacks.give_up = [&run](const std::string& message, const std::vector<std::string>& ranks, int turn) {
    on_give_up(run, message, ranks, turn);
  };
  run.watchdog.emplace(run.mpi->board(), std::move(setup), std::move(callbacks));
}

void watch_over_nodes(RunContext& run) {
  const std::string path =
      run.directory ? std::filesystem::absolute(run.directory->path()).string() : std::string();
  run.watchdog->set_directory(run.world().broadcast(path, 0));
}

}  // namespace kolo::app
