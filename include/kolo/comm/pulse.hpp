// What a rank is doing right now, told by its main thread and read by others while it runs or hangs.
//
// A PulseSlot may lie in memory that the ranks of a node share.  Telling costs a few stores, so that it can
// be done at every phase of every step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace kolo::comm {

enum class Phase : int {
  starting,  ///< reading decks and data: may take any time
  data,
  forward,
  backward,
  exchange,  ///< waits for the other ranks
  update,
  evaluation,
  checkpoint,
  ending,
};
/// "forward", "exchange", ...
const char* name_of(Phase phase);

/// Where a rank stands.  Values of one moment, or nearly: the rank goes on while they are read.
struct Place {
  Phase phase = Phase::starting;
  std::int64_t step = 0;     ///< 1-based; 0: before the first; -1: nothing is known
  std::int64_t bucket = -1;  ///< of the exchange; -1: none

  bool operator==(const Place&) const = default;
};
/// "step 17, exchange of bucket 2"; "starting" before the first step.
std::string describe(const Place& place);

struct alignas(64) PulseSlot {
  std::atomic<std::int64_t> beats;  ///< grows whenever the rank gets on with its work
  std::atomic<std::int64_t> ticks;  ///< grows as long as the process is not stopped
  std::atomic<std::int64_t> step;
  std::atomic<std::int64_t> bucket;
  std::atomic<int> phase;
  std::int64_t pid;            ///< set once, before the others may look
  std::int64_t pid_namespace;  ///< inode; 0: unknown
};

/// The writing end, for one rank.  Copies write to the same slot.
class Pulse {
 public:
  /// With a slot of its own, which nobody watches.
  Pulse();
  /// `slot` outlives the pulse.
  explicit Pulse(PulseSlot& slot);

  void enter(Phase phase) const;
  void enter_step(std::int64_t step) const;
  void enter_bucket(std::int64_t bucket) const;
  /// Still at it.  Any thread.
  void beat() const;
  Place place() const;

 private:
  std::shared_ptr<PulseSlot> slot_;
};

}  // namespace kolo::comm
