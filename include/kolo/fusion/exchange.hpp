// How gradients become updated weights: one interface, one strategy per file.
//
// A strategy owns the arena's memory, because where it lies is what distinguishes strategies (private copies,
// one window per node, a device).  A step calls `reduce_bucket` for every bucket in plan order as backward
// completes them, then `finish_step` once.  All ranks make the same calls in the same order, whatever happens
// to their samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/fusion/bucket_plan.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::fusion {

/// Flat arrays of plan.size elements each, 64-byte aligned, zero at start.
struct ArenaMemory {
  std::byte* parameters = nullptr;
  std::byte* gradients = nullptr;  ///< this rank's contribution to the sum
  std::vector<std::byte*> states;  ///< the optimizer's
};

/// What `finish_step` calls back, the same on every rank.
struct StepActions {
  /// Whether the norm of the summed gradient is wanted before the decision (it costs a pass).
  bool needs_norm = false;
  /// Gets the control values summed over ranks, and the sum of squares of the summed gradient (NaN unless
  /// needs_norm); returns the factor to multiply gradients with, or nothing to leave the weights as they are.
  std::function<std::optional<double>(std::span<const double> control, double square_norm)> decide;
  /// Updates arena elements [begin, end) with `gradients`, which holds the summed gradient from element
  /// `begin` on.
  std::function<void(std::int64_t begin, std::int64_t end, const std::byte* gradients, double scale)> update;
};

/// Seconds since the exchange was made; callers take differences.
struct ExchangeTimes {
  double exchange = 0;
  double update = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::string_view name() const = 0;
  virtual const ArenaMemory& memory() const = 0;
  /// Whether this rank puts the initial values into memory().parameters: one rank does where memory is
  /// shared.
  virtual bool writes_parameters() const { return true; }
  /// Bytes this rank holds for parameters, gradients and optimizer state.
  virtual std::size_t bytes() const = 0;
  /// This rank's gradients of `bucket` are complete in memory().gradients.
  virtual void reduce_bucket(const Bucket& bucket) = 0;
  /// Sums `control` over ranks in place, decides, updates.
  virtual void finish_step(std::span<double> control, const StepActions& actions) = 0;
  /// Rank 0's parameters and optimizer state on every rank.  Collective.
  virtual void broadcast_state() = 0;
  /// Digest of this rank's view of parameters and optimizer state: equal on all ranks after every step.
  virtual std::uint64_t digest() const = 0;
  virtual ExchangeTimes times() const = 0;
  /// Frees what needs the other ranks.  Collective.
  virtual void close() = 0;
};

struct StrategyChoice {
  config::Strategy strategy = config::Strategy::allreduce;  ///< never automatic
  std::string reason;  ///< why it is not the one asked for; empty if it is
};

/// The strategy that can run here.  `automatic` means `shared` where a node has more than one rank.  Falls
/// back to `allreduce`, saying why, before any window is made.  Collective.
StrategyChoice choose_strategy(config::Strategy asked, const BucketPlan& plan, DType type, std::size_t states,
                               const comm::Communicator& world);

/// Bytes of a node's window under `shared`.
std::size_t shared_window_bytes(const BucketPlan& plan, DType type, std::size_t states, int ranks_on_node);

/// `plan` must outlive the exchange.  `pages.pretouch`: under `shared` every rank maps what it will write
/// before the first step; on machines with several NUMA domains the pages then lie near it.  `group`: the
/// ranks that share memory under `shared`, world.split_by_node() or a part of it; taken over.  Collective
/// over `world`.
std::unique_ptr<Exchange> make_exchange(config::Strategy chosen, const BucketPlan& plan, DType type,
                                        std::size_t states, const config::MemorySection& pages,
                                        const comm::Communicator& world, comm::Communicator group);

}  // namespace kolo::fusion
