// Where every parameter lies in the arena, and which stretches of it are exchanged together (Tensor Fusion).
//
// The plan is a pure function of the parameter list, so all ranks make the same one without a message; its
// text is part of the start-up handshake.  Parameters lie in reverse registration order, because backward
// produces their gradients roughly in that order; buckets are contiguous and go out strictly in plan order,
// never in order of arrival.  The first bucket is small so that the exchange starts early (PyTorch DDP does
// the same); a tensor larger than a bucket has one of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kolo::fusion {

struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;                  ///< elements
  std::vector<std::int64_t> strides = {};  ///< in memory; part of what ranks must share
};

struct Slot {
  ParameterInfo parameter;
  std::int64_t begin = 0;  ///< first element in the arena
  std::int64_t end() const { return begin + parameter.count; }
};

struct Bucket {
  std::int64_t begin = 0;  ///< first element in the arena
  std::int64_t end = 0;    ///< one past the last; buckets cover the arena without gaps
  std::size_t first_slot = 0;
  std::size_t last_slot = 0;  ///< one past the last
  std::int64_t size() const { return end - begin; }
};

struct BucketPlan {
  std::vector<Slot> slots;  ///< in arena order
  std::vector<Bucket> buckets;
  std::int64_t size = 0;  ///< elements of the arena, alignment gaps included
  std::size_t element_size = 0;

  std::int64_t parameter_count() const;
  /// One line per slot and bucket, for the handshake.
  std::vector<std::string> describe() const;
};

struct BucketLimits {
  double first_mib = 1;
  double other_mib = 25;
};

/// `parameters` in registration order.  Every slot starts on a multiple of 64 bytes.
BucketPlan plan_buckets(std::span<const ParameterInfo> parameters, std::size_t element_size,
                        BucketLimits limits);

}  // namespace kolo::fusion
