#include "kolo/app/signals.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "kolo/util/error.hpp"

namespace kolo::app {
namespace {

using train::StopCause;

constexpr std::array<std::pair<int, StopCause>, 4> kSignals = {{{SIGUSR1, StopCause::usr1},
                                                                {SIGUSR2, StopCause::usr2},
                                                                {SIGTERM, StopCause::term},
                                                                {SIGINT, StopCause::interrupt}}};

volatile std::sig_atomic_t received[kSignals.size()];

void on_signal(int number) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i].first != number) continue;
    if (received[i] != 0 && (number == SIGTERM || number == SIGINT)) {
      std::signal(number, SIG_DFL);
      std::raise(number);
    }
    received[i] = 1;
  }
}

struct BusErrorWords {
  std::string line;
  const comm::NodeBoard* board = nullptr;
};
BusErrorWords bus_error_words;

// Returning with the default in force repeats the access, which then ends the process; a signal that somebody
// sent is repeated by hand.
void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  std::signal(number, SIG_DFL);
  if (info->si_code <= 0) std::raise(number);
  if (info->si_code != BUS_ADRERR) return;
  const std::string& line = bus_error_words.line;
  if (bus_error_words.board->claim_error_line()) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }
  _exit(static_cast<int>(ExitCode::data));
}

// One that is ignored, as INT is in the background of a script, stays so.
bool is_ignored(int number) {
  struct sigaction now = {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void install_signal_handlers(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const auto& [number, cause] : kSignals)
    if (!is_ignored(number)) sigaction(number, &action, nullptr);
  // A file beyond `ulimit -f` is then a failed write with a name, not a death without a word.
  std::signal(SIGXFSZ, SIG_IGN);
}

// Run before the constructors of the libraries, which take most of the time until main: a signal then must
// not kill the run either.
[[gnu::used, gnu::section(".preinit_array")]] void (*const kBeforeAll)(int, char**,
                                                                       char**) = install_signal_handlers;

}  // namespace

void restore_signal_handlers() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const int number = kSignals[i].first;
    if (is_ignored(number)) continue;
    std::signal(number, SIG_DFL);
    if (received[i] != 0) std::raise(number);
  }
}

void explain_bus_errors(std::string who, const comm::NodeBoard& board) {
  // After an end of line: by then there may be a progress bar.
  bus_error_words = {
      "\nkolo: error[3]: " + std::move(who) +
          "memory that stands for a file is gone: a data file became shorter while it was in use, or "
          "/dev/shm is full\n",
      &board};
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

train::StopFlags received_signals() {
  train::StopFlags flags;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    flags.set(static_cast<std::size_t>(kSignals[i].second), received[i] != 0);
  }
  return flags;
}

}  // namespace kolo::app
