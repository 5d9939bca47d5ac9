#include "kolo/fusion/bucket_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace kolo::fusion {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t padded(std::int64_t count, std::size_t element_size) {
  const auto unit = static_cast<std::int64_t>(kAlignment / element_size);
  return (count + unit - 1) / unit * unit;
}

std::int64_t limit_in_elements(double mib, std::size_t element_size) {
  return static_cast<std::int64_t>(mib * 1024 * 1024 / static_cast<double>(element_size));
}

}  // namespace

std::int64_t BucketPlan::parameter_count() const {
  return std::accumulate(slots.begin(), slots.end(), std::int64_t{0},
                         [](std::int64_t sum, const Slot& slot) { return sum + slot.parameter.count; });
}

std::vector<std::string> BucketPlan::describe() const {
  std::vector<std::string> lines;
  for (const Slot& slot : slots) {
    lines.push_back(fmt::format("parameter {} of shape [{}], strides [{}] at {}", slot.parameter.name,
                                fmt::join(slot.parameter.shape, ", "),
                                fmt::join(slot.parameter.strides, ", "), slot.begin));
  }
  for (const Bucket& bucket : buckets)
    lines.push_back(fmt::format("bucket {}-{}", bucket.begin, bucket.end));
  lines.push_back(fmt::format("{} elements of {} bytes", size, element_size));
  return lines;
}

BucketPlan plan_buckets(std::span<const ParameterInfo> parameters, std::size_t element_size,
                        BucketLimits limits) {
  BucketPlan plan;
  plan.element_size = element_size;
  Bucket open;
  const auto close_bucket = [&] {
    if (open.first_slot == plan.slots.size()) return;
    open.end = plan.size;
    open.last_slot = plan.slots.size();
    plan.buckets.push_back(open);
    open = {plan.size, plan.size, plan.slots.size(), plan.slots.size()};
  };
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const ParameterInfo& parameter = parameters[i];
    const std::int64_t needed = padded(parameter.count, element_size);
    const double mib = plan.buckets.empty() ? limits.first_mib : limits.other_mib;
    if (plan.size - open.begin + needed > limit_in_elements(mib, element_size)) close_bucket();
    plan.slots.push_back({parameter, plan.size});
    plan.size += needed;
  }
  close_bucket();
  return plan;
}

}  // namespace kolo::fusion
