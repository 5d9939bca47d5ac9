// Batches that were let go, kept for the next request: a batch of the usual size is never allocated twice.
//
// The pool outlives its Loader as long as a batch is held somewhere, because each batch's deleter owns a
// share of it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "kolo/data/batch.hpp"

namespace kolo::data {

class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  std::shared_ptr<Batch> take() {
    std::unique_ptr<Batch> batch = take_free();
    if (!batch) batch = std::make_unique<Batch>();
    return {batch.release(), [pool = shared_from_this()](Batch* used) { pool->give_back(used); }};
  }

 private:
  std::unique_ptr<Batch> take_free() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return nullptr;
    std::unique_ptr<Batch> batch = std::move(free_.back());
    free_.pop_back();
    return batch;
  }

  void give_back(Batch* used) {
    std::unique_ptr<Batch> batch(used);
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(batch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Batch>> free_;
};

}  // namespace kolo::data
