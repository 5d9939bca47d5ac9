#include "kolo/bench/compute.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>

#include "kolo/util/time.hpp"

namespace kolo::bench {
namespace {

constexpr int kLeastRepetitions = 3;

at::ScalarType scalar_type(ComputeType type) {
  return type == ComputeType::fp32 ? at::kFloat : at::kBFloat16;
}

// Operations a second over the whole time: where ranks take turns on a core, their waiting counts.
template <class F>
double speed_of(double operations, double seconds, F&& compute) {
  compute();  // the first call chooses and compiles kernels
  int repetitions = 0;
  const util::Stopwatch watch;
  while (repetitions < kLeastRepetitions || watch.seconds() < seconds) {
    compute();
    ++repetitions;
  }
  return operations * repetitions / watch.seconds();
}

}  // namespace

double product_speed(ComputeType type, double seconds) {
  constexpr std::int64_t kSide = 512;
  const c10::InferenceMode inference;
  const at::Tensor a = at::rand({kSide, kSide}).to(scalar_type(type));
  const at::Tensor b = at::rand({kSide, kSide}).to(scalar_type(type));
  return speed_of(2.0 * kSide * kSide * kSide, seconds, [&] { return at::mm(a, b); });
}

double convolution_speed(ComputeType type, double seconds) {
  constexpr std::int64_t kImages = 4, kChannels = 64, kSide = 56, kKernel = 3;
  const c10::InferenceMode inference;
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  const at::Tensor images =
      at::rand({kImages, kChannels, kSide, kSide}).to(scalar_type(type)).contiguous(channels_last);
  const at::Tensor weights =
      at::rand({kChannels, kChannels, kKernel, kKernel}).to(scalar_type(type)).contiguous(channels_last);
  constexpr double kOperations = 2.0 * kImages * kSide * kSide * kChannels * kChannels * kKernel * kKernel;
  return speed_of(kOperations, seconds,
                  [&] { return at::conv2d(images, weights, {}, /*stride=*/1, /*padding=*/1); });
}

}  // namespace kolo::bench
