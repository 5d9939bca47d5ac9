#include "kolo/util/held_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "kolo/util/error.hpp"

namespace kolo::util {

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    // A blocked signal waits even if it is ignored.
    if (now.sa_handler != SIG_IGN) sigaddset(&held, number);
  }
  descriptor_ = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0)
    throw Error(ExitCode::internal, "cannot wait for signals: " + std::generic_category().message(errno));
  sigprocmask(SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() {
  close(descriptor_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> HeldSignals::take() const {
  signalfd_siginfo info = {};
  if (read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void die_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  std::raise(signal);
  std::abort();
}

}  // namespace kolo::util
