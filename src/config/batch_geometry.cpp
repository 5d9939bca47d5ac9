#include "kolo/config/batch_geometry.hpp"

#include <fmt/format.h>

#include "kolo/util/error.hpp"

namespace kolo::config {
namespace {

constexpr std::int64_t kDefaultGlobalBatch = 128;

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

void require_samples_for_all(std::int64_t global_batch, std::int64_t world_size) {
  if (global_batch >= world_size) return;
  throw ConfigError(fmt::format("train.global_batch = {}: expected at least the world size of {}",
                                global_batch, world_size),
                    fmt::format("set train.global_batch to {} or more, or start at most {} ranks", world_size,
                                global_batch));
}

BatchGeometry from_global_batch(std::int64_t global_batch, std::int64_t accumulate, std::int64_t world_size) {
  require_samples_for_all(global_batch, world_size);
  const std::int64_t passes = world_size * accumulate;
  if (global_batch < passes) {
    throw ConfigError(
        fmt::format(
            "train.accumulate = {}: expected at most {}, as train.global_batch is {} and the world size {}",
            accumulate, global_batch / world_size, global_batch, world_size),
        fmt::format("set train.accumulate lower or train.global_batch to {} or more", passes));
  }
  return {global_batch, divide_up(global_batch, passes), accumulate};
}

BatchGeometry from_both(const TrainSection& train, std::int64_t world_size) {
  require_samples_for_all(train.global_batch, world_size);
  const std::int64_t needed = divide_up(train.global_batch, train.batch_per_rank * world_size);
  if (train.accumulate != 1 && train.accumulate != needed) {
    throw ConfigError(
        fmt::format("train.accumulate = {}: expected {}, as train.global_batch is {}, train.batch_per_rank "
                    "{} and the "
                    "world size {}",
                    train.accumulate, needed, train.global_batch, train.batch_per_rank, world_size),
        "leave out one of the three keys");
  }
  return {train.global_batch, train.batch_per_rank, needed};
}

}  // namespace

BatchGeometry resolve_batch(const TrainSection& train, int world_size) {
  if (train.global_batch > 0 && train.batch_per_rank > 0) return from_both(train, world_size);
  if (train.batch_per_rank > 0) {
    const std::int64_t product = train.batch_per_rank * world_size * train.accumulate;
    return {product, train.batch_per_rank, train.accumulate};
  }
  const std::int64_t global_batch = train.global_batch > 0 ? train.global_batch : kDefaultGlobalBatch;
  return from_global_batch(global_batch, train.accumulate, world_size);
}

}  // namespace kolo::config
