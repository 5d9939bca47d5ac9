// Strategy `allreduce`: every rank holds everything; each bucket is one blocking MPI_Allreduce; every rank
// updates all.
//
// The plainest of the strategies, and the oracle the others are tested against.  Blocking on purpose: Open
// MPI's in-place non-blocking all-reduce uses a binomial tree and makes no progress on its own.
#include "allreduce_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "kolo/util/array_kernels.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/memory_policy.hpp"
#include "kolo/util/time.hpp"

namespace kolo::fusion {

AllreduceExchange::AllreduceExchange(const BucketPlan& plan, DType type, std::size_t states,
                                     const comm::Communicator& world)
    : plan_(plan),
      type_(type),
      world_(world),
      array_bytes_(static_cast<std::size_t>(plan.size) * size_of(type)) {
  const std::size_t arrays = 2 + states;
  storage_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, std::max(kAlignment, arrays * array_bytes_))));
  if (!storage_) throw std::bad_alloc();
  util::advise_huge_pages(storage_.get(), arrays * array_bytes_);
  std::memset(storage_.get(), 0, arrays * array_bytes_);
  memory_.parameters = storage_.get();
  memory_.gradients = storage_.get() + array_bytes_;
  for (std::size_t i = 0; i < states; ++i)
    memory_.states.push_back(storage_.get() + (2 + i) * array_bytes_);
}

std::size_t AllreduceExchange::bytes() const { return (2 + memory_.states.size()) * array_bytes_; }

void AllreduceExchange::reduce_bucket(const Bucket& bucket) {
  if (world_.size() == 1) return;
  const util::Stopwatch watch;
  std::byte* first = memory_.gradients + static_cast<std::size_t>(bucket.begin) * size_of(type_);
  const auto count = static_cast<std::size_t>(bucket.size());
  if (type_ == DType::f64) {
    world_.all_reduce(std::span(reinterpret_cast<double*>(first), count), comm::Op::sum);
  } else {
    world_.all_reduce(std::span(reinterpret_cast<float*>(first), count), comm::Op::sum);
  }
  times_.exchange += watch.seconds();
}

void AllreduceExchange::finish_step(std::span<double> control, const StepActions& actions) {
  util::Stopwatch watch;
  if (world_.size() > 1) world_.all_reduce(control, comm::Op::sum);
  times_.exchange += watch.lap();
  const double square_norm =
      actions.needs_norm ? gradient_square_norm() : std::numeric_limits<double>::quiet_NaN();
  if (const std::optional<double> scale = actions.decide(control, square_norm)) {
    actions.update(0, plan_.size, memory_.gradients, *scale);
  }
  times_.update += watch.lap();
}

double AllreduceExchange::gradient_square_norm() const {
  return type_ == DType::f64
             ? util::sum_of_squares(reinterpret_cast<const double*>(memory_.gradients), plan_.size)
             : util::sum_of_squares(reinterpret_cast<const float*>(memory_.gradients), plan_.size);
}

void AllreduceExchange::broadcast_state() {
  world_.broadcast(std::span(memory_.parameters, array_bytes_), 0);
  for (std::byte* state : memory_.states)
    world_.broadcast(std::span(state, array_bytes_), 0);
}

std::uint64_t AllreduceExchange::digest() const {
  util::Digest digest;
  digest.add(std::span<const std::byte>(memory_.parameters, array_bytes_));
  for (const std::byte* state : memory_.states)
    digest.add(std::span(state, array_bytes_));
  return digest.value();
}

}  // namespace kolo::fusion
