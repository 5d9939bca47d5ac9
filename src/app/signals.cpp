#include "kolo/app/signals.hpp"

#include <array>
#include <csignal>
#include <utility>

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

train::StopFlags received_signals() {
  train::StopFlags flags;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    flags.set(static_cast<std::size_t>(kSignals[i].second), received[i] != 0);
  }
  return flags;
}

}  // namespace kolo::app
