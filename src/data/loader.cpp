#include "kolo/data/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "batch_pool.hpp"
#include "kolo/util/fault_point.hpp"
#include "kolo/util/time.hpp"

namespace kolo::data {

Loader::Loader(const Dataset& dataset, LoaderOptions options, NextRequest next_request)
    : options_(std::move(options)),
      assembler_(dataset, options_.transform, options_.seed),
      next_request_(std::move(next_request)),
      pool_(std::make_shared<BatchPool>()) {
  if (options_.dtype != DType::f32 && options_.dtype != DType::f64) {
    throw std::invalid_argument(fmt::format("a loader makes fp32 or fp64, not {}", name_of(options_.dtype)));
  }
  options_.depth = std::max<std::int64_t>(options_.depth, 1);
  thread_ = std::thread([this] { run(); });
}

Loader::~Loader() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<Batch> Loader::next() {
  const util::Stopwatch watch;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  const double waited = watch.seconds();
  wait_seconds_ += waited;
  if (ready_.empty()) {
    if (error_) std::rethrow_exception(error_);
    return nullptr;
  }
  std::shared_ptr<Batch> batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  batch->wait_seconds = waited;
  return batch;
}

void Loader::run() {
  std::exception_ptr error;
  try {
    while (make_next()) {
    }
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    error_ = error;
  }
  changed_.notify_all();
}

// False when there is nothing more to do.
bool Loader::make_next() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [this] { return stopping_ || static_cast<std::int64_t>(ready_.size()) < options_.depth; });
    if (stopping_) return false;
  }
  const std::optional<BatchRequest> request = next_request_();
  if (!request) return false;
  std::shared_ptr<Batch> batch = make(*request);
  {
    const std::scoped_lock lock(mutex_);
    ready_.push_back(std::move(batch));
  }
  changed_.notify_all();
  return true;
}

std::shared_ptr<Batch> Loader::make(const BatchRequest& request) {
  const Dataset& dataset = assembler_.dataset();
  util::fault_point("loader");
  if (request.begin < 0 || request.begin > request.end || request.end > dataset.size()) {
    throw std::out_of_range(fmt::format("a batch of positions {}..{} of an epoch of {} samples",
                                        request.begin, request.end, dataset.size()));
  }
  std::shared_ptr<Batch> batch = pool_->take();
  batch->request = request;
  batch->count = request.end - request.begin;
  batch->dtype = options_.dtype;
  batch->shape = dataset.shape();
  batch->samples.clear();
  batch->labels.clear();
  batch->images.reserve(static_cast<std::size_t>(batch->count * batch->shape.numel()) *
                        size_of(options_.dtype));
  if (batch->count == 0) return batch;
  const EpochOrder& order = order_of(request.epoch);
  for (std::int64_t position = request.begin; position < request.end; ++position) {
    batch->samples.push_back(order[position]);
    batch->labels.push_back(dataset.label(batch->samples.back()));
  }
  if (options_.dtype == DType::f32) {
    assembler_.assemble(batch->samples, request.epoch, options_.augment, batch->values<float>());
  } else {
    assembler_.assemble(batch->samples, request.epoch, options_.augment, batch->values<double>());
  }
  return batch;
}

const EpochOrder& Loader::order_of(std::int64_t epoch) {
  if (!order_ || order_epoch_ != epoch) {
    order_.emplace(assembler_.dataset().size(), options_.seed, epoch, options_.shuffle);
    order_epoch_ = epoch;
  }
  return *order_;
}

}  // namespace kolo::data
