// Batches made ahead by one background thread, so that the step never waits for pixels.
//
// The thread asks for requests strictly in order, turns each into a batch and stops when `depth` batches
// wait.  Everything in a batch is a function of (data set, options, request): the thread adds no randomness,
// and the same class serves training and, without shuffling or augmentation, evaluation.  The order of an
// epoch is computed in the thread when its first request comes, which is while the epoch before is still
// being consumed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "kolo/data/assemble.hpp"
#include "kolo/data/batch.hpp"
#include "kolo/data/order.hpp"

namespace kolo::data {

struct LoaderOptions {
  std::uint64_t seed = 1;
  Shuffle shuffle = Shuffle::on;
  Augment augment = Augment::on;
  DType dtype = DType::f32;  ///< f32 or f64
  std::int64_t depth = 4;    ///< batches made ahead, at least 1
  Transform transform;
};

class BatchPool;

class Loader {
 public:
  /// Called on the background thread, one call after the other; nothing ends the sequence.  It must return
  /// soon: the destructor waits for it.
  using NextRequest = std::function<std::optional<BatchRequest>()>;

  /// Starts the thread.  Throws as Assembler does, and std::invalid_argument for another dtype.
  Loader(const Dataset& dataset, LoaderOptions options, NextRequest next_request);
  /// Stops the thread after the batch it is making.  Batches that are still held stay valid.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch in the order of the requests, null after the last.  Rethrows what the thread threw, after
  /// the batches before it, at every further call.  For one consumer thread.
  std::shared_ptr<Batch> next();
  /// Sum over all calls of next().
  double wait_seconds() const { return wait_seconds_; }

 private:
  void run();
  bool make_next();
  std::shared_ptr<Batch> make(const BatchRequest& request);
  const EpochOrder& order_of(std::int64_t epoch);

  LoaderOptions options_;
  Assembler assembler_;
  NextRequest next_request_;
  std::shared_ptr<BatchPool> pool_;
  std::optional<EpochOrder> order_;  // of order_epoch_; the thread's own
  std::int64_t order_epoch_ = 0;
  double wait_seconds_ = 0;  // the consumer's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Batch>> ready_;
  bool finished_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace kolo::data
