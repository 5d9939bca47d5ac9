// Strategy `shared`: reduce-scatter, update and all-gather for the price of reading the gradients once.
//
// All ranks of a node keep their gradients side by side in one shared window, next to a single copy of the
// weights and of the optimizer state.  When backward is done everywhere, each rank adds up its own slice of
// all contributions, in rank order, and updates that slice of the weights in place, which everybody sees at
// once.  Across nodes the owners of the same slice all-reduce it among themselves.
//
// Invariant: between the two synchronisations of finish_step a rank writes its own slice only and nobody
// reads weights; outside them nobody writes anything but its own gradients.
#include "shared_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kolo/comm/agree.hpp"
#include "kolo/util/array_kernels.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/memory_policy.hpp"
#include "kolo/util/time.hpp"

namespace kolo::fusion {
namespace {

// Elements added up before they are used: the sum stays in the first-level cache.
constexpr std::int64_t kPiece = 2048;
constexpr std::int64_t kSliceUnit =
    16;  // slices begin at multiples of 64 bytes: no cache line has two writers

std::int64_t slice_bound(std::int64_t size, int parts, int part) {
  const std::int64_t units = (size + kSliceUnit - 1) / kSliceUnit;
  return std::min(size, units * part / parts * kSliceUnit);
}

}  // namespace

SharedExchange::SharedExchange(const BucketPlan& plan, DType type, std::size_t states,
                               const config::MemorySection& pages, const comm::Communicator& world,
                               comm::Communicator group)
    : plan_(plan),
      type_(type),
      world_(world),
      node_(std::move(group)),
      peers_(world.split(node_.rank())),
      array_bytes_(static_cast<std::size_t>(plan.size) * size_of(type)),
      // Agreed over the world: a node that cannot must not leave the others waiting.
      window_(comm::agree(world, [&] {
        return comm::SharedBuffer::allocate(node_, shared_window_bytes(plan, type, states, node_.size()));
      })) {
  std::byte* next = window_.bytes().data();
  const auto take = [&] { return std::exchange(next, next + array_bytes_); };
  memory_.parameters = take();
  for (std::size_t i = 0; i < states; ++i)
    memory_.states.push_back(take());
  memory_.gradients = next + static_cast<std::size_t>(node_.rank()) * array_bytes_;
  slice_begin_ = slice_bound(plan.size, node_.size(), node_.rank());
  slice_end_ = slice_bound(plan.size, node_.size(), node_.rank() + 1);
  util::advise_huge_pages(window_.bytes().data(), window_.bytes().size());
  if (pages.pretouch) touch_own_pages();
  window_.fence(node_);  // rank 0 may write the parameters now
}

// Zeros where there are zeros, for the sake of the page faults.
void SharedExchange::touch_own_pages() const {
  const std::size_t first = static_cast<std::size_t>(slice_begin_) * size_of(type_);
  const std::size_t bytes = static_cast<std::size_t>(slice_end_ - slice_begin_) * size_of(type_);
  std::memset(memory_.parameters + first, 0, bytes);
  for (std::byte* state : memory_.states)
    std::memset(state + first, 0, bytes);
  std::memset(memory_.gradients, 0, array_bytes_);
}

std::byte* SharedExchange::gradients_of(int node_rank) const {
  return memory_.gradients + static_cast<std::ptrdiff_t>(array_bytes_) * (node_rank - node_.rank());
}

std::size_t SharedExchange::bytes() const {
  const std::size_t once_a_node = (1 + memory_.states.size()) * array_bytes_;
  return once_a_node / static_cast<std::size_t>(node_.size()) + array_bytes_;
}

void SharedExchange::reduce_bucket(const Bucket& /*bucket*/) {
}  // the gradients are where the others read them

template <class T>
void SharedExchange::add_up(std::int64_t begin, std::int64_t end, T* sum) const {
  const auto contribution = [&](int rank) { return reinterpret_cast<const T*>(gradients_of(rank)) + begin; };
  const std::int64_t count = end - begin;
  if (node_.size() == 1) {
    std::copy_n(contribution(0), count, sum);
    return;
  }
  util::add(sum, contribution(0), contribution(1), count);
  for (int rank = 2; rank < node_.size(); ++rank)
    util::add(sum, sum, contribution(rank), count);
}

// Pass 1 where the whole sum is needed before the update: into this rank's own contribution, which is read no
// more.
template <class T>
double SharedExchange::sum_slice() {
  T* own = reinterpret_cast<T*>(memory_.gradients);
  T piece[kPiece];
  for (std::int64_t begin = slice_begin_; begin < slice_end_; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, slice_end_);
    add_up(begin, end, piece);
    std::copy_n(piece, end - begin, own + begin);
  }
  if (crosses_nodes()) {
    const auto bucket = static_cast<std::int64_t>(25 * 1024 * 1024 / sizeof(T));
    for (std::int64_t begin = slice_begin_; begin < slice_end_; begin += bucket) {
      const auto count = static_cast<std::size_t>(std::min(bucket, slice_end_ - begin));
      peers_.all_reduce(std::span(own + begin, count), comm::Op::sum);
    }
  }
  return util::sum_of_squares(own + slice_begin_, slice_end_ - slice_begin_);
}

template <class T>
void SharedExchange::update_from_contributions(const StepActions& actions, double scale) const {
  T piece[kPiece];
  for (std::int64_t begin = slice_begin_; begin < slice_end_; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, slice_end_);
    add_up(begin, end, piece);
    actions.update(begin, end, reinterpret_cast<const std::byte*>(piece), scale);
  }
}

void SharedExchange::finish_step(std::span<double> control, const StepActions& actions) {
  util::Stopwatch watch;
  const bool two_passes = actions.needs_norm || crosses_nodes();
  double square_norm = std::numeric_limits<double>::quiet_NaN();
  message_.assign(control.begin(), control.end());
  if (two_passes) {
    window_.fence(node_);  // every contribution is complete
    square_norm = type_ == DType::f64 ? sum_slice<double>() : sum_slice<float>();
    // Slices are disjoint within a node and equal across nodes: each node's share of the norm counts once.
    message_.push_back(square_norm / peers_.size());
  } else {
    window_.sync();
  }
  world_.all_reduce(message_, comm::Op::sum);  // nobody leaves it before everybody has come
  window_.sync();
  std::copy_n(message_.begin(), control.size(), control.begin());
  if (two_passes) square_norm = message_.back();
  times_.exchange += watch.lap();

  if (const std::optional<double> scale = actions.decide(control, square_norm)) {
    if (two_passes) {
      const std::size_t offset = static_cast<std::size_t>(slice_begin_) * size_of(type_);
      actions.update(slice_begin_, slice_end_, memory_.gradients + offset, *scale);
    } else if (type_ == DType::f64) {
      update_from_contributions<double>(actions, *scale);
    } else {
      update_from_contributions<float>(actions, *scale);
    }
  }
  times_.update += watch.lap();
  window_.fence(node_);
  times_.exchange += watch.lap();
}

void SharedExchange::broadcast_state() {
  window_.fence(node_);
  // Only the peers of the nodes' first ranks hold rank 0's node among them; the others see the window.
  if (node_.rank() == 0 && crosses_nodes()) {
    peers_.broadcast(std::span(memory_.parameters, (1 + memory_.states.size()) * array_bytes_), 0);
  }
  window_.fence(node_);
}

std::uint64_t SharedExchange::digest() const {
  return util::digest(
      std::span<const std::byte>(memory_.parameters, (1 + memory_.states.size()) * array_bytes_));
}

void SharedExchange::close() {
  window_.close();
  peers_.close();
  node_.close();
}

}  // namespace kolo::fusion
