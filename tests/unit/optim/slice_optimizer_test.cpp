// Slices, segments and bits; that the formulas are torch's is checked in tests/unit/optim_oracle.
#include "kolo/optim/slice_optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kolo/util/error.hpp"

namespace kolo::optim {
namespace {

using config::OptimizerName;
using config::OptimizerSection;

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(n);
  for (T& value : values)
    value = static_cast<T>(normal(engine));
  return values;
}

/// Parameters and state arrays of one optimizer.
template <class T>
struct Arrays {
  std::vector<T> params;
  std::vector<std::vector<T>> states;

  Arrays(std::vector<T> start, std::size_t state_count)
      : params(std::move(start)), states(state_count, std::vector<T>(params.size())) {}

  std::vector<T*> pointers() {
    std::vector<T*> result;
    for (auto& state : states)
      result.push_back(state.data());
    return result;
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Three updates, each cut at `cuts`.
template <class T>
Arrays<T> train(const OptimizerSection& section, std::size_t n, const std::vector<std::int64_t>& cuts) {
  const auto size = static_cast<std::int64_t>(n);
  const auto optimizer = make_optimizer<T>(section, {{0, size / 3, 0.01}, {size / 3 + 2, size, 0}});
  Arrays<T> arrays(random_values<T>(n, 1), optimizer->state_names().size());
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto grads = random_values<T>(n, 10 + static_cast<unsigned>(step));
    std::int64_t begin = 0;
    for (const std::int64_t cut : cuts) {
      optimizer->update(arrays.params.data(), grads.data(), arrays.pointers(), begin, cut, {0.1, step, 0.5});
      begin = cut;
    }
    optimizer->update(arrays.params.data(), grads.data(), arrays.pointers(), begin, size, {0.1, step, 0.5});
  }
  return arrays;
}

std::vector<OptimizerSection> all_optimizers() {
  std::vector<OptimizerSection> sections(5);
  sections[0].momentum = 0;
  sections[2].nesterov = true;
  sections[3].name = OptimizerName::adam;
  sections[4].name = OptimizerName::adamw;
  return sections;
}

template <class T>
class SliceOptimizer_ : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SliceOptimizer_, ElementTypes);

TYPED_TEST(SliceOptimizer_, AnyPartitionGivesTheSameBits) {
  constexpr std::size_t n = 1031;
  std::vector<std::int64_t> every_element;
  for (std::int64_t i = 1; i < 1031; ++i)
    every_element.push_back(i);
  const std::vector<std::vector<std::int64_t>> partitions = {
      {1}, {515}, {0, 7, 7, 340, 344, 1030}, every_element};
  for (const OptimizerSection& section : all_optimizers()) {
    const auto whole = train<TypeParam>(section, n, {});
    for (const auto& cuts : partitions) {
      const auto cut = train<TypeParam>(section, n, cuts);
      EXPECT_TRUE(same_bits(whole.params, cut.params)) << cuts.size() << " cuts";
      for (std::size_t s = 0; s < whole.states.size(); ++s) {
        EXPECT_TRUE(same_bits(whole.states[s], cut.states[s]))
            << "state " << s << ", " << cuts.size() << " cuts";
      }
    }
  }
}

// Volatile intermediates keep the compiler from contracting, whatever this file's flags are.
template <class T>
void adam_element(T& p, T g, T& m, T& v, const OptimizerSection& o, double lr, double decay,
                  std::int64_t step) {
  const double power = static_cast<double>(step);
  const volatile T scaled_grad = static_cast<T>(0.5) * g;
  const volatile T old_m = static_cast<T>(o.beta1) * m;
  const volatile T new_m = static_cast<T>(1 - o.beta1) * scaled_grad;
  m = old_m + new_m;
  const volatile T square = scaled_grad * scaled_grad;
  const volatile T old_v = static_cast<T>(o.beta2) * v;
  const volatile T new_v = static_cast<T>(1 - o.beta2) * square;
  v = old_v + new_v;
  const volatile T root = std::sqrt(v) / static_cast<T>(std::sqrt(1 - std::pow(o.beta2, power)));
  const volatile T ratio = m / (root + static_cast<T>(o.eps));
  const volatile T change = static_cast<T>(lr / (1 - std::pow(o.beta1, power))) * ratio;
  const volatile T shrunk = p * static_cast<T>(1 - lr * decay);
  p = shrunk - change;
}

TYPED_TEST(SliceOptimizer_, VectorLoopsGiveTheBitsOfUncontractedScalarCode) {
  OptimizerSection section;
  section.name = OptimizerName::adamw;
  constexpr std::size_t n = 333;
  const auto optimizer = make_optimizer<TypeParam>(section, {{0, 333, 0.25}});
  Arrays<TypeParam> arrays(random_values<TypeParam>(n, 1), 2);
  Arrays<TypeParam> expected = arrays;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto grads = random_values<TypeParam>(n, static_cast<unsigned>(step) + 1);
    optimizer->update(arrays.params.data(), grads.data(), arrays.pointers(), 0, 333, {0.1, step, 0.5});
    for (std::size_t i = 0; i < n; ++i) {
      adam_element(expected.params[i], grads[i], expected.states[0][i], expected.states[1][i], section, 0.1,
                   0.25, step);
    }
  }
  EXPECT_TRUE(same_bits(arrays.params, expected.params));
}

TYPED_TEST(SliceOptimizer_, ElementsOutsideSliceOrSegmentsStayUntouched) {
  for (const OptimizerSection& section : all_optimizers()) {
    const auto optimizer = make_optimizer<TypeParam>(section, {{4, 10, 0.1}, {16, 40, 0.1}});
    Arrays<TypeParam> arrays(std::vector<TypeParam>(48, 1), optimizer->state_names().size());
    const std::vector<TypeParam> grads(48, 2);
    optimizer->update(arrays.params.data(), grads.data(), arrays.pointers(), 6, 20, {0.1, 1});
    for (std::size_t i = 0; i < 48; ++i) {
      const bool inside = (i >= 6 && i < 10) || (i >= 16 && i < 20);
      EXPECT_EQ(arrays.params[i] != 1, inside) << i;
      for (const auto& state : arrays.states)
        EXPECT_EQ(state[i] != 0, inside) << i;
    }
  }
}

TEST(SliceOptimizer, EachSegmentHasItsOwnWeightDecay) {
  OptimizerSection section;
  section.momentum = 0;
  const auto optimizer = make_optimizer<double>(section, {{0, 1, 0.5}, {1, 2, 0}, {2, 3, 0.25}});
  std::vector<double> params(3, 4);
  const std::vector<double> grads(3, 0);
  optimizer->update(params.data(), grads.data(), {}, 0, 3, {1, 1});
  EXPECT_EQ(params, (std::vector<double>{2, 4, 3}));
}

TEST(SliceOptimizer, EmptySliceAndNoSegmentsDoNothing) {
  const auto with_segment = make_optimizer<float>({}, {{0, 3, 0.5}});
  const auto without = make_optimizer<float>({}, {});
  Arrays<float> arrays(std::vector<float>(3, 1), 1);
  const std::vector<float> grads(3, 1);
  with_segment->update(arrays.params.data(), grads.data(), arrays.pointers(), 2, 2, {1, 1});
  without->update(arrays.params.data(), grads.data(), arrays.pointers(), 0, 3, {1, 1});
  EXPECT_EQ(arrays.params, std::vector<float>(3, 1));
}

TEST(SliceOptimizer, StateNamesAreTorchs) {
  const auto names = [](const OptimizerSection& section) {
    const auto optimizer = make_optimizer<float>(section, {});
    return std::vector<std::string>(optimizer->state_names().begin(), optimizer->state_names().end());
  };
  const std::vector<std::string> adam_names = {"exp_avg", "exp_avg_sq"};
  const auto sections = all_optimizers();
  EXPECT_EQ(names(sections[0]), std::vector<std::string>{});
  EXPECT_EQ(names(sections[1]), std::vector<std::string>{"momentum_buffer"});
  EXPECT_EQ(names(sections[2]), std::vector<std::string>{"momentum_buffer"});
  EXPECT_EQ(names(sections[3]), adam_names);
  EXPECT_EQ(names(sections[4]), adam_names);
}

TEST(SliceOptimizer, NesterovWithoutMomentumIsAConfigError) {
  OptimizerSection section;
  section.momentum = 0;
  section.nesterov = true;
  EXPECT_THROW(make_optimizer<float>(section, {}), ConfigError);
}

TEST(SliceOptimizer, OverlappingUnsortedOrReversedSegmentsAreRefused) {
  EXPECT_THROW(make_optimizer<float>({}, {{0, 5, 0}, {4, 8, 0}}), std::invalid_argument);
  EXPECT_THROW(make_optimizer<float>({}, {{6, 8, 0}, {0, 5, 0}}), std::invalid_argument);
  EXPECT_THROW(make_optimizer<float>({}, {{5, 4, 0}}), std::invalid_argument);
  EXPECT_THROW(make_optimizer<float>({}, {{-1, 4, 0}}), std::invalid_argument);
}

TEST(SliceOptimizer, WrongNumberOfStateArraysIsRefused) {
  for (const OptimizerSection& section : all_optimizers()) {
    const auto optimizer = make_optimizer<float>(section, {{0, 1, 0}});
    std::vector<float> array(1);
    const std::vector<float*> states(optimizer->state_names().size() + 1, array.data());
    EXPECT_THROW(optimizer->update(array.data(), array.data(), states, 0, 1, {1, 1}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace kolo::optim
