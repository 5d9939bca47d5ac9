#include "kolo/train/activation_memory.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

namespace kolo::train {
namespace {

// libtorch tells this object of every block that its CPU allocator hands out or takes back.
class PeakCounter final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*block*/, std::int64_t bytes, std::size_t /*total*/, std::size_t /*reserved*/,
                         c10::Device /*device*/) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  double peak() const { return static_cast<double>(peak_); }

 private:
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

double peak_of_pass(model::Network& network, const data::ImageShape& shape, at::ScalarType type,
                    std::int64_t batch) {
  const auto counter = std::make_shared<PeakCounter>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
    const at::Tensor images =
        at::zeros({batch, shape.channels, shape.height, shape.width}, at::TensorOptions().dtype(type))
            .contiguous(network.memory_format());
    const at::Tensor labels = at::zeros({batch}, at::TensorOptions().dtype(at::kLong));
    at::cross_entropy_loss(network.forward(images), labels).backward();
  }
  for (at::Tensor& parameter : network.parameters())
    parameter.mutable_grad().reset();
  return counter->peak();
}

}  // namespace

double activation_bytes(model::Network& network, const data::ImageShape& shape, DType type,
                        std::int64_t batch) {
  const auto scalar = type == DType::f64 ? at::kDouble : at::kFloat;
  const double two = peak_of_pass(network, shape, scalar, 2);
  const double four = peak_of_pass(network, shape, scalar, 4);
  const double each = std::max(0.0, (four - two) / 2);
  return std::max(two, two + each * static_cast<double>(batch - 2));
}

}  // namespace kolo::train
