// How a run ends badly: one line from one rank, the right exit code, and no rank left waiting.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "kolo/app/lifecycle.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

struct Failure {
  ExitCode code = ExitCode::internal;
  std::string message;
  std::string hint;
  bool agreed = false;  // every rank is here with the same error
};

Failure describe(const RunContext& run, const std::exception_ptr& error) {
  const std::string where = run.mpi && run.world().size() > 1 ? "rank " + std::to_string(run.world().rank()) +
                                                                    " on " + run.mpi->host() + ": "
                                                              : "";
  try {
    std::rethrow_exception(error);
  } catch (const comm::AgreedError& e) {
    if (run.mpi && e.ranks < run.world().size()) return {e.code(), where + e.what(), e.hint()};
    const std::string origin = e.origin_rank == 0 ? "" : "rank " + std::to_string(e.origin_rank) + ": ";
    return {e.code(), origin + e.what(), e.hint(), true};
  } catch (const Error& e) {
    return {e.code(), where + e.what(), e.hint()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::internal, where + "out of memory", "kolo check estimates what a rank needs"};
  } catch (const std::exception& e) {
    return {ExitCode::internal, where + e.what(), ""};
  } catch (...) {
    return {ExitCode::internal, where + "an exception that is not a std::exception", ""};
  }
}

// The first line is the error, whatever the message looked like; what follows is indented.
std::string render(const Failure& failure) {
  std::string message = failure.message.substr(0, failure.message.find('\n'));
  std::string text = "kolo: error[" + std::to_string(static_cast<int>(failure.code)) + "]: " + message + "\n";
  if (failure.hint.empty()) return text;
  for (const std::string& line : util::split(failure.hint, '\n'))
    text += "  " + line + "\n";
  return text;
}

void print(const Failure& failure) {
  const std::string text = render(failure);
  std::fflush(stdout);
  // One write, so that lines of other programs cannot come between.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  util::log(util::trim(text), util::LogTarget::file_only);
}

void note_in_summary(const RunContext& run, const Failure& failure) {
  if (!run.directory) return;
  io::Summary summary;
  summary.reason = failure.code == ExitCode::diverged ? "diverged" : "error";
  summary.exit_code = static_cast<int>(failure.code);
  run.directory->write_summary(summary);
}

// Two nodes may fail at once and cannot see each other's claim: the first node goes first, and its abort ends
// the others.
void wait_for_lower_ranks(const RunContext& run) {
  const int delay_ms = std::min(run.world().rank() * 20, 1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
}

[[noreturn]] void abort_job(const RunContext& run, const Failure& failure) {
  wait_for_lower_ranks(run);
  if (run.mpi->claim_error_line()) {
    print(failure);
    note_in_summary(run, failure);
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
      print(failure);
      comm::abort_if_started(failure.code);
      return static_cast<int>(failure.code);
    }
    if (run.world().size() > 1 && !failure.agreed) abort_job(run, failure);
    // Singletons that should have been one job all fail alike: only the first speaks.
    const bool speaks = run.world().size() > 1 ? run.is_root() : run.launch.rank.value_or(0) == 0;
    if (speaks) print(failure);
    note_in_summary(run, failure);
    run.close();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "  while ending the run: %s\n", e.what());
    if (run.mpi) run.mpi->abort(failure.code);
  }
  return static_cast<int>(failure.code);
}

}  // namespace kolo::app
