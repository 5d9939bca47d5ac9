#include "kolo/util/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kolo/util/error.hpp"

namespace kolo::util {
namespace {

struct LogState {
  std::mutex mutex;  // the watchdog and the checkpoint writer log as well
  bool on = false;
  std::shared_ptr<spdlog::logger> file;
  std::vector<std::string> early;  // lines from before the run directory was known
};

LogState& state() {
  static LogState instance;
  return instance;
}

void to_file(std::string_view line) {
  if (state().file) {
    state().file->info("{}", line);
  } else {
    state().early.emplace_back(line);
  }
}

}  // namespace

void enable_log(bool on) {
  const std::scoped_lock lock(state().mutex);
  state().on = on;
}

void open_log_file(const std::filesystem::path& path) {
  const std::scoped_lock lock(state().mutex);
  if (!state().on) return;
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
    state().file = std::make_shared<spdlog::logger>("kolo", std::move(sink));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(ExitCode::usage, "cannot open the log file " + path.string() + ": " + error.what());
  }
  // A disk that is full must not turn every line into an error message of spdlog's.
  state().file->set_error_handler([told = false](const std::string& message) mutable {
    if (!std::exchange(told, true)) std::fprintf(stderr, "kolo: warning: log.txt: %s\n", message.c_str());
  });
  state().file->set_pattern("%Y-%m-%dT%H:%M:%S%z %v");
  state().file->flush_on(spdlog::level::info);
  for (const std::string& line : state().early)
    state().file->info("{}", line);
  state().early.clear();
}

void log(std::string_view line, LogTarget target) {
  const std::scoped_lock lock(state().mutex);
  if (!state().on) return;
  if (target == LogTarget::console_and_file) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  }
  to_file(line);
}

void log_warning(std::string_view line) { log("warning: " + std::string(line)); }

void close_log_file() {
  const std::scoped_lock lock(state().mutex);
  state().file.reset();
}

}  // namespace kolo::util
