#include "kolo/fusion/arena.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "kolo/fusion/gradient_hooks.hpp"
#include "kolo/util/error.hpp"

namespace kolo::fusion {
namespace {

at::Tensor trainable(at::Tensor tensor) { return tensor.set_requires_grad(true); }

std::vector<NamedParameter> three_parameters() {
  return {{"weight", trainable(at::rand({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast))},
          {"bias", trainable(at::rand({4}))},
          {"fc", trainable(at::rand({2, 4}))}};
}

struct Fixture {
  explicit Fixture(std::vector<NamedParameter> given, BucketLimits limits = {})
      : parameters(std::move(given)),
        plan(plan_buckets(describe_parameters(parameters), 4, limits)),
        memory(at::zeros({2, plan.size})),
        arena(plan, parameters, base(0), Arena::Initial::write),
        hooks(arena, base(1), 1e30, [this](const Bucket& bucket) { handed_over.push_back(bucket.begin); }) {}

  std::byte* base(std::int64_t row) {
    return static_cast<std::byte*>(memory.data_ptr()) + row * plan.size * 4;
  }
  at::Tensor gradient(std::size_t slot) { return arena.view(slot, base(1)); }

  std::vector<NamedParameter> parameters;
  BucketPlan plan;
  at::Tensor memory;
  Arena arena;
  std::vector<std::int64_t> handed_over;
  GradientHooks hooks;
};

// Uses every parameter; convolution's gradient for the weight comes from autograd, not from us.
at::Tensor loss_of(const Fixture& f, const at::Tensor& x) {
  const at::Tensor& weight = f.parameters[0].tensor;
  const at::Tensor& bias = f.parameters[1].tensor;
  const at::Tensor& fc = f.parameters[2].tensor;
  return (at::conv2d(x, weight, bias).mean({2, 3}).matmul(fc.t())).square().sum();
}

TEST(Arena, KeepsValuesAndStridesOfParameters) {
  const auto before = three_parameters();
  std::vector<at::Tensor> values;
  for (const auto& parameter : before)
    values.push_back(parameter.tensor.detach().clone());
  Fixture f(before);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(at::equal(f.parameters[i].tensor, values[i]));
    EXPECT_EQ(f.parameters[i].tensor.strides(), values[i].strides());
  }
}

TEST(Arena, ParametersAreViewsOfTheFlatArray) {
  Fixture f(three_parameters());
  f.memory[0].fill_(7);
  for (const NamedParameter& parameter : f.parameters)
    EXPECT_TRUE((parameter.tensor == 7).all().item<bool>());
}

TEST(Arena, TakesTiedParametersOnce) {
  const at::Tensor shared = trainable(at::rand({3}));
  const auto unique = unique_trainable({{"a", shared}, {"b", shared}, {"frozen", at::rand({2})}});
  ASSERT_EQ(unique.size(), 1U);
  EXPECT_EQ(unique[0].name, "a");
}

TEST(Arena, RefusesMixedTypes) {
  EXPECT_THROW(describe_parameters({{"a", at::rand({2})}, {"b", at::rand({2}, at::kDouble)}}),
               std::invalid_argument);
}

TEST(GradientHooks, StoreWhatAutogradComputes) {
  Fixture f(three_parameters());
  const at::Tensor x = at::rand({2, 3, 5, 5});
  loss_of(f, x).backward();  // not armed: gradients stay with the parameters
  std::vector<at::Tensor> expected;
  for (const NamedParameter& parameter : f.arena.parameters()) {
    expected.push_back(parameter.tensor.grad().clone());
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad().reset();
  }
  f.hooks.begin_step();
  f.hooks.arm();
  loss_of(f, x).backward();
  f.hooks.require_complete();
  for (std::size_t slot = 0; slot < expected.size(); ++slot) {
    EXPECT_TRUE(at::equal(f.gradient(slot), expected[slot])) << f.arena.parameters()[slot].name;
    EXPECT_FALSE(f.arena.parameters()[slot].tensor.grad().defined());
  }
  EXPECT_TRUE(f.hooks.finite());
}

TEST(GradientHooks, AddMicroBatchesUpUntilTheLast) {
  Fixture f(three_parameters());
  const at::Tensor x = at::rand({2, 3, 5, 5});
  f.hooks.begin_step();
  loss_of(f, x).backward();
  f.hooks.arm();
  loss_of(f, x).backward();
  f.hooks.require_complete();
  const at::Tensor twice = f.gradient(0).clone();
  f.hooks.begin_step();
  f.hooks.arm();
  loss_of(f, x).backward();
  f.hooks.require_complete();
  EXPECT_TRUE(twice.allclose(2 * f.gradient(0), 1e-6));
}

TEST(GradientHooks, HandBucketsOverInPlanOrder) {
  Fixture f(three_parameters(), {1e-6, 1e-6});  // a bucket for each parameter
  f.hooks.begin_step();
  f.hooks.arm();
  loss_of(f, at::rand({2, 3, 5, 5})).backward();
  f.hooks.require_complete();
  std::vector<std::int64_t> expected;
  for (const Bucket& bucket : f.plan.buckets)
    expected.push_back(bucket.begin);
  EXPECT_EQ(f.handed_over, expected);
}

TEST(GradientHooks, NameAParameterThatGotNoGradient) {
  Fixture f(three_parameters());
  f.hooks.begin_step();
  f.hooks.arm();
  f.parameters[0].tensor.sum().backward();
  try {
    f.hooks.require_complete();
    FAIL() << "an error was expected";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("parameter fc got 0 gradients"), std::string::npos)
        << error.what();
  }
}

TEST(GradientHooks, ContributeZerosCompletesAStepThatFailedHalfWay) {
  Fixture f(three_parameters(), {1e-6, 1e-6});
  f.memory[1].fill_(5);
  f.hooks.begin_step();
  f.hooks.arm();
  f.parameters[2].tensor.sum().backward();  // hands over the first bucket only
  f.hooks.contribute_zeros();
  ASSERT_EQ(f.handed_over.size(), f.plan.buckets.size());
  EXPECT_TRUE((f.gradient(0) == 1).all().item<bool>());
  EXPECT_TRUE((f.gradient(1) == 0).all().item<bool>());
  EXPECT_TRUE((f.gradient(2) == 0).all().item<bool>());
}

TEST(GradientHooks, ContributeZerosAfterACompleteStepAddsNothing) {
  Fixture f(three_parameters(), {1e-6, 1e-6});
  f.hooks.begin_step();
  f.hooks.arm();
  loss_of(f, at::rand({2, 3, 5, 5})).backward();
  f.hooks.require_complete();
  f.hooks.contribute_zeros();
  EXPECT_EQ(f.handed_over.size(), f.plan.buckets.size());
}

TEST(GradientHooks, NameTheFirstNonFiniteGradient) {
  Fixture f(three_parameters());
  f.hooks.begin_step();
  f.hooks.arm();
  (loss_of(f, at::rand({2, 3, 5, 5})) * 1e38).backward();
  f.hooks.require_complete();
  EXPECT_FALSE(f.hooks.finite());
  EXPECT_EQ(f.hooks.first_nonfinite(), "fc");
}

TEST(GradientHooks, AreGoneWithTheirOwner) {
  auto parameters = three_parameters();
  { Fixture f(parameters); }
  // The memory is gone as well: only a removed hook makes this safe.
  for (auto& parameter : parameters)
    parameter.tensor.set_data(at::rand(parameter.tensor.sizes()));
  parameters[2].tensor.sum().backward();
  EXPECT_TRUE(parameters[2].tensor.grad().defined());
}

}  // namespace
}  // namespace kolo::fusion
