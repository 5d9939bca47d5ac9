// The model's state at one step, copied as it lies in memory, so that training may go on while it is written.
//
// capture() is all that training waits for: one copy of the arena's parameters and optimizer state, and of
// the buffers.  What a file needs beyond that (logical order, names) is made by view(), on the writer's
// thread, without libtorch.  The memory is used again for the next snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kolo/io/checkpoint.hpp"

namespace kolo::train {

class Replica;

class Snapshot {
 public:
  /// Any earlier view becomes invalid.  Returns the name of the first parameter that is not finite, if one
  /// is: such a state is worth nothing to go on from.
  std::optional<std::string> capture(const Replica& replica);
  /// Parameters, buffers and optimizer state by name; the rest of the view is empty.  Valid until the next
  /// call of either function.
  io::CheckpointView view();
  /// Of what is copied.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Memory {
    std::byte* reserve(std::size_t bytes);
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;
  };
  struct Entry {
    std::string name;
    DType type = DType::f32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< in elements
    std::size_t offset = 0;             ///< of the parameter in an array, or of the buffer in buffers_
    std::size_t bytes = 0;
  };

  void describe(const Replica& replica);
  template <class T>
  std::optional<std::string> copy_parameters(const std::byte* source, std::byte* target) const;
  std::size_t bytes_to_arrange() const;
  io::TensorView arrange(const Entry& entry, const std::byte* source, std::byte*& next) const;

  std::vector<Entry> parameters_;  // in registration order
  std::vector<Entry> buffers_;
  std::vector<std::string> states_;
  std::size_t array_bytes_ = 0;  // the arena's parameters, or one state
  std::size_t bytes_ = 0;
  Memory arrays_;    // parameters, then each state
  Memory buffered_;  // buffers
  Memory arranged_;  // tensors whose memory order is not the logical one, brought into it
};

}  // namespace kolo::train
