// What the ranks of a node really hold, from /proc: `shared` keeps weights and optimizer state once a node.
#include <gtest/gtest.h>

#include <cstring>

#include "kolo/fusion/exchange.hpp"
#include "kolo/util/process_memory.hpp"

namespace kolo {
namespace {

constexpr std::int64_t kElements = 4 << 20;
constexpr std::size_t kStates = 2;
constexpr double kArray = kElements * sizeof(float);

double bytes_of_all(const comm::Communicator& world) {
  world.barrier();
  const util::ProcessMemory own = util::process_memory().value();
  // Pages of libraries count less whenever a program starts elsewhere that maps them too.
  const double sum = world.all_reduce(own.total - own.files, comm::Op::sum);
  world.barrier();
  return sum;
}

// Every rank contributes a gradient, and its share of weights and state is written.
void train_once(fusion::Exchange& exchange, const fusion::BucketPlan& plan) {
  std::memset(exchange.memory().gradients, 1, static_cast<std::size_t>(plan.size) * sizeof(float));
  for (const fusion::Bucket& bucket : plan.buckets)
    exchange.reduce_bucket(bucket);
  fusion::StepActions actions;
  actions.decide = [](std::span<const double>, double) { return 1.0; };
  actions.update = [&](std::int64_t begin, std::int64_t end, const std::byte* sum, double) {
    const auto offset = static_cast<std::size_t>(begin) * sizeof(float);
    const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(float);
    std::memcpy(exchange.memory().parameters + offset, sum, bytes);
    for (std::byte* state : exchange.memory().states)
      std::memcpy(state + offset, sum, bytes);
  };
  double control[] = {0};
  exchange.finish_step(control, actions);
}

/// Arrays that the node came to hold while `f` ran.
template <class F>
double arrays_taken(const comm::Communicator& world, F&& f) {
  const double before = bytes_of_all(world);
  f();
  return (bytes_of_all(world) - before) / kArray;
}

class ExchangeMemory : public testing::TestWithParam<config::Strategy> {
 protected:
  ~ExchangeMemory() override { world_.close(); }

  std::unique_ptr<fusion::Exchange> make(bool pretouch) {
    config::MemorySection pages;
    pages.pretouch = pretouch;
    return fusion::make_exchange(GetParam(), plan_, DType::f32, kStates, pages, world_,
                                 world_.split_by_node());
  }
  /// Arrays of a whole node's exchange.
  double expected() const {
    const double once = 1 + kStates;
    const int n = world_.size();
    return GetParam() == config::Strategy::shared ? once + n : (once + 1) * n;
  }

  comm::Communicator world_ = comm::Communicator::duplicate(MPI_COMM_WORLD);
  const std::vector<fusion::ParameterInfo> parameters_ = {{"p", {kElements}, kElements, {1}}};
  const fusion::BucketPlan plan_ = fusion::plan_buckets(parameters_, sizeof(float), {});
};

TEST_P(ExchangeMemory, ANodeHoldsWhatTheStrategySays) {
  if (!util::process_memory()) GTEST_SKIP() << "this kernel has no smaps_rollup";
  std::unique_ptr<fusion::Exchange> exchange;
  const double taken = arrays_taken(world_, [&] {
    exchange = make(true);
    train_once(*exchange, plan_);
  });
  EXPECT_NEAR(taken, expected(), 0.25);
  exchange->close();
}

TEST_P(ExchangeMemory, PretouchedPagesAreThereBeforeTheFirstStep) {
  if (!util::process_memory()) GTEST_SKIP() << "this kernel has no smaps_rollup";
  std::unique_ptr<fusion::Exchange> exchange;
  EXPECT_NEAR(arrays_taken(world_, [&] { exchange = make(true); }), expected(), 0.25);
  exchange->close();
  exchange.reset();
  if (GetParam() != config::Strategy::shared || world_.size() == 1) return;
  EXPECT_LT(arrays_taken(world_, [&] { exchange = make(false); }), 0.25);
  exchange->close();
}

std::string name_of_case(const testing::TestParamInfo<config::Strategy>& info) {
  return info.param == config::Strategy::shared ? "Shared" : "Allreduce";
}

INSTANTIATE_TEST_SUITE_P(Strategies, ExchangeMemory,
                         testing::Values(config::Strategy::shared, config::Strategy::allreduce),
                         name_of_case);

}  // namespace
}  // namespace kolo
