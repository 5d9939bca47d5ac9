// Private copies on every rank, summed by MPI.  See allreduce_exchange.cpp.
#pragma once

#include <cstdlib>
#include <memory>

#include "kolo/fusion/exchange.hpp"

namespace kolo::fusion {

class AllreduceExchange final : public Exchange {
 public:
  AllreduceExchange(const BucketPlan& plan, DType type, std::size_t states, const comm::Communicator& world);

  std::string_view name() const override { return "allreduce"; }
  const ArenaMemory& memory() const override { return memory_; }
  std::size_t bytes() const override;
  void reduce_bucket(const Bucket& bucket) override;
  void finish_step(std::span<double> control, const StepActions& actions) override;
  void broadcast_state() override;
  std::uint64_t digest() const override;
  ExchangeTimes times() const override { return times_; }
  void close() override {}

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* pointer) const { std::free(pointer); }
  };

  double gradient_square_norm() const;

  const BucketPlan& plan_;
  DType type_;
  const comm::Communicator& world_;
  std::size_t array_bytes_;
  std::unique_ptr<std::byte, Free> storage_;
  ArenaMemory memory_;
  ExchangeTimes times_;
};

}  // namespace kolo::fusion
