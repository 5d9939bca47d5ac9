// INT, TERM and HUP, held back while something must be cleaned up before the process may end.
//
// While an object lives, these signals end nothing and wait to be taken; one that is never taken takes effect
// when the object dies.  A signal that is ignored at construction (HUP under nohup) stays so.  For programs
// with one thread, and one object at a time.
#pragma once

#include <csignal>
#include <optional>

namespace kolo::util {

class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  /// The next signal that waits; nothing when none does.
  std::optional<int> take() const;
  /// Readable while a signal waits.
  int descriptor() const { return descriptor_; }
  /// The signals that were blocked before; a child process should start so.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_ = {};
  int descriptor_ = -1;
};

/// Ends this process the way `signal` does when nobody handles it.
[[noreturn]] void die_by_signal(int signal);

}  // namespace kolo::util
