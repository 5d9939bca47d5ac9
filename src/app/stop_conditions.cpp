#include "kolo/app/stop_conditions.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "kolo/app/signals.hpp"

namespace kolo::app {
namespace {

// A step that is under way and what comes at the end are not free either.
constexpr double kSavesBeforeEnd = 2;

bool job_ends_soon(const RunContext& run, double save_seconds) {
  if (!run.launch.job_end) return false;
  const double margin = run.loaded.config.checkpoint.job_end_margin + kSavesBeforeEnd * save_seconds;
  return static_cast<double>(std::time(nullptr)) + margin >= static_cast<double>(*run.launch.job_end);
}

}  // namespace

train::StopPoll make_poll(const RunContext& run, std::function<double()> save_seconds) {
  constexpr double kLookSeconds = 0.5;  // a run directory may be on a slow file system
  return [&run, save_seconds = std::move(save_seconds), since_look = util::Stopwatch(),
          stop_file = false]() mutable {
    train::StopFlags flags = received_signals();
    if (!run.directory) return flags;
    const auto set = [&flags](train::StopCause cause, bool on) {
      flags.set(static_cast<std::size_t>(cause), on);
    };
    if (!stop_file && since_look.seconds() > kLookSeconds) {
      since_look.lap();
      stop_file = run.directory->stop_requested();
    }
    set(train::StopCause::stop_file, stop_file);
    const std::optional<double> limit = run.command_line.max_seconds;
    set(train::StopCause::time_limit, limit && run.since_start.seconds() >= *limit);
    set(train::StopCause::job_end, job_ends_soon(run, save_seconds()));
    return flags;
  };
}

std::string describe_job_end(const RunContext& run) {
  if (!run.launch.job_end) return "";
  std::tm local = {};
  const std::time_t end = *run.launch.job_end;
  localtime_r(&end, &local);
  return fmt::format("the Slurm job ends at {:%Y-%m-%d %H:%M:%S}: the run stops {:g} s before, resumable",
                     local, run.loaded.config.checkpoint.job_end_margin);
}

}  // namespace kolo::app
