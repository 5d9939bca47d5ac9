#include "kolo/app/failure.hpp"

#include <unistd.h>

#include <exception>

#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

// The first line is the error, whatever the message looked like; what follows is indented.
std::string render(const util::ErrorText& failure) {
  const std::string message = failure.message.substr(0, failure.message.find('\n'));
  std::string text = "kolo: error[" + std::to_string(static_cast<int>(failure.code)) + "]: " + message + "\n";
  if (failure.hint.empty()) return text;
  for (const std::string& line : util::split(failure.hint, '\n'))
    text += "  " + line + "\n";
  return text;
}

}  // namespace

std::string name_rank(const RunContext& run, int rank) {
  if (!run.mpi || run.world().size() == 1) return "";
  return "rank " + std::to_string(rank) + " on " + run.mpi->hosts()[static_cast<std::size_t>(rank)] + ": ";
}

void write_to_standard_error(const RunContext& run, const std::string& text) {
  const std::string piece = (run.shows_bar ? "\n" : "") + text;
  // One write, so that lines of other programs cannot come between.  Standard output is left alone: every
  // line there was flushed, and whoever holds it may be what hangs.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, piece.data(), piece.size());
}

void print_error_line(const RunContext& run, const util::ErrorText& failure) {
  write_to_standard_error(run, render(failure));
}

void note_in_summary(const RunContext& run, const util::ErrorText& failure) {
  if (!run.directory || !run.owns_directory) return;
  io::Summary summary;
  summary.reason = failure.code == ExitCode::diverged ? "diverged" : "error";
  summary.exit_code = static_cast<int>(failure.code);
  try {
    run.directory->write_summary(summary);
  } catch (const std::exception&) {
    // The error line is out; a disk that is full or gone is often what it is about.
  }
}

void log_failure(const util::ErrorText& failure) {
  util::log(util::trim(render(failure)), util::LogTarget::file_only);
}

void print_failure(const RunContext& run, const util::ErrorText& failure) {
  print_error_line(run, failure);
  note_in_summary(run, failure);
  log_failure(failure);
}

}  // namespace kolo::app
