// Every strategy and optimizer against plain MPI and torch's own optimizers.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "kolo/fusion/exchange.hpp"
#include "kolo/optim/clip.hpp"
#include "kolo/train/arena_optimizer.hpp"

namespace kolo::test {
namespace {

constexpr int kSteps = 3;

struct Case {
  std::string name;
  config::OptimizerSection optimizer;
  double clip_norm = 0;
};

config::OptimizerSection section(config::OptimizerName name, double weight_decay) {
  config::OptimizerSection result;
  result.name = name;
  result.lr = 0.01;
  result.momentum = 0;
  result.weight_decay = weight_decay;
  return result;
}

std::vector<Case> cases() {
  auto momentum = section(config::OptimizerName::sgd, 0.1);
  momentum.momentum = 0.9;
  auto nesterov = momentum;
  nesterov.nesterov = true;
  auto groups = section(config::OptimizerName::adamw, 0.3);
  groups.no_decay = config::NoDecay::bias_and_norm;
  return {{"sgd", section(config::OptimizerName::sgd, 0)},
          {"momentum", momentum},
          {"nesterov_clipped", nesterov, 0.5},
          {"adam", section(config::OptimizerName::adam, 0.1)},
          {"adam_clipped", section(config::OptimizerName::adam, 0), 0.7},
          {"adamw_groups", groups}};
}

// Odd sizes, one tensor smaller than a rank's share of anything and one larger than a bucket.
std::vector<fusion::ParameterInfo> parameters() {
  std::vector<fusion::ParameterInfo> infos;
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{1}, {3}, {17, 1}, {7, 11, 13}, {5}, {70001, 2}}) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
      count *= extent;
    infos.push_back({"p" + std::to_string(infos.size()), shape, count});
  }
  return infos;
}

double value_at(std::int64_t index, int step, int rank) {
  return std::sin(static_cast<double>(index % 9973) * 0.7 + step * 1.3 + rank * 2.1);
}

template <class T>
class Simulation {
 public:
  // `ranks_a_node`: how many ranks are taken for one node; 0: those that are.
  Simulation(const Case& which, config::Strategy strategy, const comm::Communicator& world,
             int ranks_a_node = 0)
      : case_(which),
        world_(world),
        plan_(fusion::plan_buckets(infos_, sizeof(T), {0.01, 0.2})),
        optimizer_(train::make_arena_optimizer(which.optimizer, plan_, dtype_of<T>())),
        exchange_(fusion::make_exchange(
            strategy, plan_, dtype_of<T>(), optimizer_->state_names().size(), {}, world,
            ranks_a_node == 0 ? world.split_by_node() : world.split(world.rank() / ranks_a_node))) {
    if (exchange_->writes_parameters()) {
      for_each_slot(
          [&](const fusion::Slot& slot, std::int64_t i) { weights()[slot.begin + i] = initial(slot, i); });
    }
    exchange_->broadcast_state();
  }
  ~Simulation() { exchange_->close(); }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      for_each_slot([&](const fusion::Slot& slot, std::int64_t i) {
        gradients()[slot.begin + i] = static_cast<T>(value_at(slot.begin + i, step, world_.rank()));
      });
      for (const fusion::Bucket& bucket : plan_.buckets)
        exchange_->reduce_bucket(bucket);
      double control[] = {1.0, static_cast<double>(world_.rank())};
      fusion::StepActions actions;
      actions.needs_norm = case_.clip_norm > 0;
      actions.decide = [&](std::span<const double> sums, double square_norm) -> std::optional<double> {
        EXPECT_EQ(sums[0], world_.size());
        return case_.clip_norm > 0 ? optim::clip_scale(std::sqrt(square_norm), case_.clip_norm) : 1.0;
      };
      actions.update = [&](std::int64_t begin, std::int64_t end, const std::byte* sum, double scale) {
        optimizer_->update(exchange_->memory(), begin, end, sum, {case_.optimizer.lr, step + 1, scale});
      };
      exchange_->finish_step(control, actions);
    }
  }

  // The same with MPI_Allreduce on whole tensors and torch's optimizer: the weights by slot.
  std::vector<at::Tensor> oracle() const {
    std::vector<at::Tensor> tensors;
    const auto type = at::TensorOptions().dtype(std::is_same_v<T, double> ? at::kDouble : at::kFloat);
    for (const fusion::Slot& slot : plan_.slots) {
      at::Tensor tensor = at::zeros({slot.parameter.count}, type);
      for (std::int64_t i = 0; i < slot.parameter.count; ++i)
        tensor.data_ptr<T>()[i] = initial(slot, i);
      tensors.push_back(tensor.set_requires_grad(true));
    }
    const auto optimizer = torch_optimizer(tensors);
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t s = 0; s < tensors.size(); ++s) {
        at::Tensor gradient = at::zeros_like(tensors[s]);
        for (std::int64_t i = 0; i < gradient.numel(); ++i) {
          gradient.data_ptr<T>()[i] = static_cast<T>(value_at(plan_.slots[s].begin + i, step, world_.rank()));
        }
        MPI_Allreduce(MPI_IN_PLACE, gradient.data_ptr<T>(), static_cast<int>(gradient.numel()),
                      sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, world_.handle());
        tensors[s].mutable_grad() = gradient;
      }
      if (case_.clip_norm > 0) torch::nn::utils::clip_grad_norm_(tensors, case_.clip_norm);
      optimizer->step();
    }
    return tensors;
  }

  void expect_near(const std::vector<at::Tensor>& expected, double tolerance) const {
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
      double worst = 0;
      for (std::int64_t i = 0; i < plan_.slots[s].parameter.count; ++i) {
        const auto ours = static_cast<double>(weights()[plan_.slots[s].begin + i]);
        worst = std::max(worst, std::abs(ours - static_cast<double>(expected[s].data_ptr<T>()[i])));
      }
      EXPECT_LE(worst, tolerance) << case_.name << ", " << exchange_->name() << ", "
                                  << plan_.slots[s].parameter.name;
    }
  }

  std::vector<T> copy_of_weights() const { return {weights(), weights() + plan_.size}; }
  std::uint64_t digest() const { return exchange_->digest(); }

 private:
  T* weights() const { return reinterpret_cast<T*>(exchange_->memory().parameters); }
  T* gradients() const { return reinterpret_cast<T*>(exchange_->memory().gradients); }
  static T initial(const fusion::Slot& slot, std::int64_t i) {
    return static_cast<T>(std::cos(static_cast<double>(slot.begin + i)));
  }

  template <class F>
  void for_each_slot(F&& f) const {
    for (const fusion::Slot& slot : plan_.slots) {
      for (std::int64_t i = 0; i < slot.parameter.count; ++i)
        f(slot, i);
    }
  }

  std::unique_ptr<torch::optim::Optimizer> torch_optimizer(const std::vector<at::Tensor>& tensors) const {
    const config::OptimizerSection& o = case_.optimizer;
    if (o.name == config::OptimizerName::sgd) {
      return std::make_unique<torch::optim::SGD>(tensors, torch::optim::SGDOptions(o.lr)
                                                              .momentum(o.momentum)
                                                              .weight_decay(o.weight_decay)
                                                              .nesterov(o.nesterov));
    }
    if (o.name == config::OptimizerName::adam) {
      return std::make_unique<torch::optim::Adam>(
          tensors, torch::optim::AdamOptions(o.lr).weight_decay(o.weight_decay));
    }
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (std::size_t s = 0; s < tensors.size(); ++s) {
      const bool exempt = o.no_decay != config::NoDecay::none && plan_.slots[s].parameter.shape.size() <= 1;
      groups.emplace_back(std::vector<at::Tensor>{tensors[s]},
                          std::make_unique<torch::optim::AdamWOptions>(
                              torch::optim::AdamWOptions(o.lr).weight_decay(exempt ? 0 : o.weight_decay)));
    }
    return std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions(o.lr));
  }

  const Case& case_;
  const comm::Communicator& world_;
  std::vector<fusion::ParameterInfo> infos_ = parameters();
  fusion::BucketPlan plan_;
  std::unique_ptr<train::ArenaOptimizer> optimizer_;
  std::unique_ptr<fusion::Exchange> exchange_;
};

class Exchanges : public testing::Test {
 protected:
  comm::Communicator world = comm::Communicator::duplicate(MPI_COMM_WORLD);
  void TearDown() override { world.close(); }

  template <class T>
  void expect_oracle(config::Strategy strategy, double tolerance) {
    for (const Case& which : cases()) {
      Simulation<T> simulation(which, strategy, world);
      simulation.run();
      simulation.expect_near(simulation.oracle(), tolerance);
    }
  }
};

TEST_F(Exchanges, AllreduceEqualsPlainMpiAndTorchInFp64) {
  expect_oracle<double>(config::Strategy::allreduce, 1e-12);
}
TEST_F(Exchanges, AllreduceEqualsPlainMpiAndTorchInFp32) {
  expect_oracle<float>(config::Strategy::allreduce, 3e-6);
}
TEST_F(Exchanges, SharedEqualsPlainMpiAndTorchInFp64) {
  expect_oracle<double>(config::Strategy::shared, 1e-12);
}
TEST_F(Exchanges, SharedEqualsPlainMpiAndTorchInFp32) {
  expect_oracle<float>(config::Strategy::shared, 3e-6);
}

TEST_F(Exchanges, SharedOverSeveralNodesEqualsPlainMpiAndTorch) {
  if (world.size() == 3) GTEST_SKIP() << "three ranks make no nodes of equal size";
  for (const int ranks_a_node : {1, 2}) {
    if (world.size() % ranks_a_node != 0) continue;
    for (const Case& which : cases()) {
      Simulation<double> simulation(which, config::Strategy::shared, world, ranks_a_node);
      simulation.run();
      simulation.expect_near(simulation.oracle(), 1e-12);
      const auto mine = static_cast<std::int64_t>(simulation.digest());
      EXPECT_EQ(world.all_reduce(mine, comm::Op::min), world.all_reduce(mine, comm::Op::max)) << which.name;
    }
  }
}

TEST_F(Exchanges, SharedIsRepeatableBitForBit) {
  for (const Case& which : cases()) {
    Simulation<float> first(which, config::Strategy::shared, world);
    Simulation<float> second(which, config::Strategy::shared, world);
    first.run();
    second.run();
    EXPECT_EQ(first.copy_of_weights(), second.copy_of_weights()) << which.name;
  }
}

TEST_F(Exchanges, AllRanksHoldTheSameStateAfterEveryStrategy) {
  for (const auto strategy : {config::Strategy::shared, config::Strategy::allreduce}) {
    const Case which = cases()[3];
    Simulation<float> simulation(which, strategy, world);
    simulation.run();
    const auto mine = static_cast<std::int64_t>(simulation.digest());
    EXPECT_EQ(world.all_reduce(mine, comm::Op::min), world.all_reduce(mine, comm::Op::max));
  }
}

TEST_F(Exchanges, ADecisionAgainstTheUpdateLeavesEverythingAsItIs) {
  const auto infos = parameters();
  const fusion::BucketPlan plan = fusion::plan_buckets(infos, 4, {});
  for (const auto strategy : {config::Strategy::shared, config::Strategy::allreduce}) {
    const auto exchange =
        fusion::make_exchange(strategy, plan, DType::f32, 1, {}, world, world.split_by_node());
    std::memset(exchange->memory().gradients, 1, static_cast<std::size_t>(plan.size) * 4);
    const std::uint64_t before = exchange->digest();
    for (const bool needs_norm : {false, true}) {
      fusion::StepActions actions;
      actions.needs_norm = needs_norm;
      actions.decide = [](std::span<const double>, double) -> std::optional<double> { return std::nullopt; };
      actions.update = [](std::int64_t, std::int64_t, const std::byte*, double) {
        FAIL() << "updated all the same";
      };
      double control[] = {0};
      for (const fusion::Bucket& bucket : plan.buckets)
        exchange->reduce_bucket(bucket);
      exchange->finish_step(control, actions);
    }
    EXPECT_EQ(exchange->digest(), before);
    exchange->close();
  }
}

TEST_F(Exchanges, TooSmallSharedMemoryFallsBackWithAReason) {
  fusion::BucketPlan plan = fusion::plan_buckets(parameters(), 4, {});
  plan.size = std::int64_t{1} << 46;
  const auto choice = fusion::choose_strategy(config::Strategy::automatic, plan, DType::f32, 2, world);
  EXPECT_EQ(choice.strategy, config::Strategy::allreduce);
  if (world.size() > 1) {
    EXPECT_NE(choice.reason.find("too little shared memory"), std::string::npos) << choice.reason;
  }
}

TEST_F(Exchanges, AutomaticMeansSharedWithSeveralRanksANode) {
  const fusion::BucketPlan plan = fusion::plan_buckets(parameters(), 4, {});
  const auto choice = fusion::choose_strategy(config::Strategy::automatic, plan, DType::f32, 2, world);
  EXPECT_EQ(choice.strategy, world.size() > 1 ? config::Strategy::shared : config::Strategy::allreduce);
  EXPECT_EQ(choice.reason, "");
}

}  // namespace
}  // namespace kolo::test
