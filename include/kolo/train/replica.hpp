// This rank's copy of the model, wired for training: network, arena, exchange, hooks and optimizer.
//
// Members are built in that order and die in the reverse one, so that tensors that view the arena die before
// its memory. `close()` is collective; the destructor never communicates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/pulse.hpp"
#include "kolo/config/config.hpp"
#include "kolo/fusion/arena.hpp"
#include "kolo/fusion/exchange.hpp"
#include "kolo/fusion/gradient_hooks.hpp"
#include "kolo/io/checkpoint.hpp"
#include "kolo/model/network.hpp"
#include "kolo/train/arena_optimizer.hpp"

namespace kolo::train {

/// The bucket plan for `network`'s parameters.
fusion::BucketPlan plan_for(const model::Network& network, const config::CommSection& section);

/// The exchange strategy that can run here, and why it is not the one the deck asks for.  Collective.
fusion::StrategyChoice choose_strategy(const model::Network& network, const config::Config& config,
                                       const comm::Communicator& world);

class Replica {
 public:
  /// Takes over `network`'s parameters; rank 0's values reach every rank.  Throws AgreedError naming the
  /// first parameter or bucket in which two ranks differ.  Collective.
  /// `pulse` is told of buckets that are exchanged during backward.
  Replica(std::shared_ptr<model::Network> network, const config::Config& config, config::Strategy strategy,
          const comm::Communicator& world, comm::Pulse pulse = {});
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  model::Network& network() const { return *network_; }
  const fusion::BucketPlan& plan() const { return *plan_; }
  const fusion::Arena& arena() const { return *arena_; }
  fusion::Exchange& exchange() const { return *exchange_; }
  fusion::GradientHooks& hooks() const { return *hooks_; }
  const ArenaOptimizer& optimizer() const { return *optimizer_; }
  DType dtype() const { return type_; }
  const comm::Pulse& pulse() const { return pulse_; }

  /// Running statistics and the like, by name; contiguous.
  std::vector<fusion::NamedParameter> buffers() const;
  /// Overwrites this rank's parameters, buffers and, unless `weights_only`, optimizer state.  Throws
  /// CheckpointError for a missing or surplus name, another shape or another type.
  enum class Restore { everything, weights_only };
  void restore(const io::Checkpoint& checkpoint, Restore what);
  /// Rank 0's parameters, buffers and optimizer state on every rank.  Collective.
  void broadcast();
  /// Throws CommError naming the ranks whose weights, buffers or optimizer state differ from rank 0's.
  /// Collective.
  void require_equal(const comm::Communicator& world) const;

  /// Throws DivergedError (agreed) naming the first parameter with a value that is not finite.  Collective.
  void require_finite(std::int64_t step) const;

  /// Collective; nothing else may be called afterwards, and no other owner of the network may be left.
  void close();

 private:
  void exchange_bucket(const fusion::Bucket& bucket) const;

  const comm::Communicator& world_;
  comm::Pulse pulse_;
  std::unique_ptr<fusion::BucketPlan> plan_;
  DType type_;
  std::unique_ptr<ArenaOptimizer> optimizer_;
  std::unique_ptr<fusion::Exchange> exchange_;
  std::shared_ptr<model::Network> network_;
  std::unique_ptr<fusion::Arena> arena_;
  std::unique_ptr<fusion::GradientHooks> hooks_;
};

}  // namespace kolo::train
