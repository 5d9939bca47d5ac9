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

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const auto& [number, cause] : kSignals)
    sigaction(number, &action, nullptr);
}

void restore_signal_handlers() {
  for (const auto& [number, cause] : kSignals)
    std::signal(number, SIG_DFL);
}

train::StopFlags received_signals() {
  train::StopFlags flags;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    flags.set(static_cast<std::size_t>(kSignals[i].second), received[i] != 0);
  }
  return flags;
}

}  // namespace kolo::app
