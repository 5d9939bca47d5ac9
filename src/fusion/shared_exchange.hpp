// One copy of weights and optimizer state per node, in an MPI-3 shared window.  See shared_exchange.cpp.
#pragma once

#include <vector>

#include "kolo/comm/shared_buffer.hpp"
#include "kolo/fusion/exchange.hpp"

namespace kolo::fusion {

class SharedExchange final : public Exchange {
 public:
  /// `group`: the ranks that share the window, all on one node; closed with the exchange.  All groups must
  /// have the same number of ranks, and shared memory must have room: see choose_strategy.
  SharedExchange(const BucketPlan& plan, DType type, std::size_t states, const config::MemorySection& pages,
                 const comm::Communicator& world, comm::Communicator group);

  std::string_view name() const override { return "shared"; }
  const ArenaMemory& memory() const override { return memory_; }
  bool writes_parameters() const override { return node_.rank() == 0; }
  std::size_t bytes() const override;
  void reduce_bucket(const Bucket& bucket) override;
  void finish_step(std::span<double> control, const StepActions& actions) override;
  void broadcast_state() override;
  std::uint64_t digest() const override;
  ExchangeTimes times() const override { return times_; }
  void close() override;

 private:
  std::byte* gradients_of(int node_rank) const;
  void touch_own_pages() const;
  template <class T>
  void add_up(std::int64_t begin, std::int64_t end, T* sum) const;
  template <class T>
  double sum_slice();
  template <class T>
  void update_from_contributions(const StepActions& actions, double scale) const;
  bool crosses_nodes() const { return peers_.size() > 1; }

  const BucketPlan& plan_;
  DType type_;
  const comm::Communicator& world_;
  comm::Communicator node_;
  comm::Communicator peers_;  // the owners of the same slice on all nodes
  std::size_t array_bytes_;
  comm::SharedBuffer window_;
  ArenaMemory memory_;
  std::int64_t slice_begin_ = 0;
  std::int64_t slice_end_ = 0;
  std::vector<double> message_;
  ExchangeTimes times_;
};

}  // namespace kolo::fusion
