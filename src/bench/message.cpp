#include "kolo/bench/message.hpp"

#include <algorithm>
#include <string>

#include "kolo/data/philox.hpp"

namespace kolo::bench {
namespace {

constexpr std::int64_t kTensorBytes = std::int64_t{1} << 20;
constexpr std::uint64_t kSeed = 1;

}  // namespace

fusion::BucketPlan plan_message(std::int64_t elements, DType type) {
  const std::int64_t whole = kTensorBytes / static_cast<std::int64_t>(size_of(type));
  std::vector<fusion::ParameterInfo> tensors;
  for (std::int64_t left = elements; left > 0; left -= tensors.back().count) {
    const std::int64_t count = std::min(whole, left);
    tensors.push_back({"tensor" + std::to_string(tensors.size()), {count}, count, {1}});
  }
  std::reverse(tensors.begin(), tensors.end());  // plan_buckets puts what is registered last first
  return fusion::plan_buckets(tensors, size_of(type), {});
}

template <class T>
std::vector<T> contribution_of(int rank, std::int64_t elements) {
  std::vector<T> values(static_cast<std::size_t>(elements));
  data::PhiloxBlock words = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t word = i % words.size();
    if (word == 0) {
      words = data::draw(kSeed, data::Stream::noise, i / words.size(), static_cast<std::uint64_t>(rank));
    }
    values[i] =
        static_cast<T>(static_cast<std::int32_t>(words[word])) / static_cast<T>(std::int64_t{1} << 31);
  }
  return values;
}

template std::vector<float> contribution_of<float>(int rank, std::int64_t elements);
template std::vector<double> contribution_of<double>(int rank, std::int64_t elements);

}  // namespace kolo::bench
