// How a run ends badly: one line from one rank, the right exit code, and no rank left waiting.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>

#include "kolo/app/failure.hpp"
#include "kolo/app/lifecycle.hpp"
#include "kolo/comm/agree.hpp"

namespace kolo::app {
namespace {

struct Failure {
  util::ErrorText text;
  bool agreed = false;  // every rank is here with the same error
};

std::string name_place(const std::string& place) { return place.empty() ? "" : place + ": "; }

// What only this rank knows of.
util::ErrorText describe_own(const RunContext& run, const std::exception_ptr& error) {
  util::ErrorText text = util::describe(error);
  if (!run.mpi) return text;
  const comm::Place place = run.pulse.place();
  text.message =
      name_rank(run, run.world().rank()) + name_place(place.step > 0 ? describe(place) : "") + text.message;
  return text;
}

Failure describe(const RunContext& run, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const comm::AgreedError& e) {
    if (!run.mpi || e.ranks < run.world().size()) return {describe_own(run, error)};
    // What happens before the first step is mostly found by rank 0 for all: its name would only confuse.
    const bool names_rank = e.origin_rank != 0 || !e.place.empty();
    const std::string origin = names_rank ? name_rank(run, e.origin_rank) : "";
    return {{e.code(), origin + name_place(e.place) + e.what(), e.hint()}, true};
  } catch (...) {
    return {describe_own(run, error)};
  }
}

// Nodes may fail at once and cannot see each other's claim: the first goes first, and its abort ends the
// others.
void wait_for_lower_nodes(const RunContext& run) {
  const auto& hosts = run.mpi->hosts();
  const std::set<std::string> lower(hosts.begin(), hosts.begin() + run.world().rank());
  const auto nodes = lower.size() - lower.count(run.mpi->host());
  std::this_thread::sleep_for(std::chrono::milliseconds(200) * std::min<std::size_t>(nodes, 25));
}

[[noreturn]] void abort_job(const RunContext& run, const util::ErrorText& failure) {
  wait_for_lower_nodes(run);
  if (run.mpi->board().claim_error_line()) {
    print_failure(run, failure);
    run.mpi->abort(failure.code);
  }
  // Another rank of this node reports and aborts; should it not get there, this one does.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  run.mpi->abort(failure.code);
}

}  // namespace

int report_failure(RunContext& run, const std::exception_ptr& error) noexcept {
  Failure failure;
  try {
    failure = describe(run, error);
    if (!run.mpi) {
      // Copies that a launcher started of a command without MPI all fail alike: only the first speaks.
      if (run.launch.rank.value_or(0) == 0 || !run.without_mpi) print_failure(run, failure.text);
      comm::abort_if_started(failure.text.code);
      return static_cast<int>(failure.text.code);
    }
    if (run.world().size() > 1 && !failure.agreed) abort_job(run, failure.text);
    // Singletons that should have been one job all fail alike: only the first speaks.
    const bool speaks = run.world().size() > 1 ? run.is_root() : run.launch.rank.value_or(0) == 0;
    // The watchdog may have had its say already.
    if (speaks && run.mpi->board().claim_error_line()) print_failure(run, failure.text);
    run.close();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "  while ending the run: %s\n", e.what());
    if (run.mpi) run.mpi->abort(failure.text.code);
  }
  return static_cast<int>(failure.text.code);
}

}  // namespace kolo::app
