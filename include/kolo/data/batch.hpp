// One batch, ready for the network: images, labels, and which samples they are.
//
// The images lie in one 64-byte aligned buffer that torch::from_blob can wrap; keep the shared_ptr in its
// deleter.  When the last owner lets go, the Batch goes back to its Loader's pool and its memory is used
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "kolo/data/dataset.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::data {

/// Uninitialised memory, 64-byte aligned, that only ever grows.
class AlignedBuffer {
 public:
  /// At least `bytes` bytes; what was in them is lost when it grows.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();
      capacity_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      capacity_ = bytes;
    }
    return memory_.get();
  }
  std::byte* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
};

/// Positions begin .. end-1 of an epoch's order.
struct BatchRequest {
  std::int64_t epoch = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Batch {
  BatchRequest request;
  std::int64_t count = 0;  ///< samples; 0 for an empty request
  DType dtype = DType::f32;
  ImageShape shape;
  AlignedBuffer images;               ///< count x channels x height x width of dtype, contiguous
  std::vector<std::int64_t> labels;   ///< count
  std::vector<std::int64_t> samples;  ///< count indices into the data set
  double wait_seconds = 0;            ///< how long the consumer waited for it

  template <class T>
  std::span<T> values() const {
    return {reinterpret_cast<T*>(images.data()), static_cast<std::size_t>(count * shape.numel())};
  }
};

}  // namespace kolo::data
