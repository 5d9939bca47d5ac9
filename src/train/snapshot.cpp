#include "kolo/train/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kolo/train/replica.hpp"
#include "kolo/train/tensor_bytes.hpp"
#include "kolo/util/array_kernels.hpp"
#include "kolo/util/memory_policy.hpp"

namespace kolo::train {
namespace {

bool is_contiguous(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// N images of H x W pixels with C channels each lie as N x (H W) x C; logical order is N x C x (H W).
bool is_channels_last(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  if (shape.size() != 4) return false;
  const std::int64_t channels = shape[1], row = shape[3] * channels, image = shape[2] * row;
  const std::int64_t expected[] = {image, 1, row, channels};
  for (std::size_t i = 0; i < 4; ++i)
    if (shape[i] != 1 && strides[i] != expected[i]) return false;
  return true;
}

template <class T>
void reorder_channels_last(const std::byte* source, std::byte* target,
                           const std::vector<std::int64_t>& shape) {
  util::transpose_checked(reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), shape[0],
                          shape[2] * shape[3], shape[1], std::numeric_limits<T>::infinity());
}

// Any other order, element by element.
void reorder(const std::byte* source, std::byte* target, const std::vector<std::int64_t>& shape,
             const std::vector<std::int64_t>& strides, std::size_t element) {
  std::vector<std::int64_t> at(shape.size());
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    count *= extent;
  for (std::int64_t n = 0; n < count; ++n, target += element) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      offset += at[i] * strides[i];
    std::memcpy(target, source + static_cast<std::size_t>(offset) * element, element);
    for (std::size_t i = shape.size(); i-- > 0 && ++at[i] == shape[i];)
      at[i] = 0;
  }
}

}  // namespace

std::byte* Snapshot::Memory::reserve(std::size_t bytes) {
  if (bytes > capacity) {
    data.reset();
    data = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity = bytes;
    util::advise_huge_pages(data.get(), bytes);
  }
  return data.get();
}

void Snapshot::describe(const Replica& replica) {
  const fusion::BucketPlan& plan = replica.plan();
  parameters_.clear();
  // Registration order reads better than the arena's.
  for (std::size_t i = plan.slots.size(); i-- > 0;) {
    const fusion::Slot& slot = plan.slots[i];
    parameters_.push_back({slot.parameter.name, replica.dtype(), slot.parameter.shape, slot.parameter.strides,
                           static_cast<std::size_t>(slot.begin) * plan.element_size,
                           static_cast<std::size_t>(slot.parameter.count) * plan.element_size});
  }
  states_ = replica.optimizer().state_names();
  array_bytes_ = static_cast<std::size_t>(plan.size) * plan.element_size;
}

// The look at each value costs nothing beside the copy.
template <class T>
std::optional<std::string> Snapshot::copy_parameters(const std::byte* source, std::byte* target) const {
  constexpr T kLargest = std::numeric_limits<T>::max();
  const auto count = static_cast<std::int64_t>(array_bytes_ / sizeof(T));
  if (util::copy_checked(reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), count, kLargest))
    return std::nullopt;
  for (const Entry& entry : parameters_) {
    const auto* first = reinterpret_cast<const T*>(target + entry.offset);
    if (!util::all_within(first, static_cast<std::int64_t>(entry.bytes / sizeof(T)), kLargest))
      return entry.name;
  }
  return std::nullopt;  // between tensors: nobody's
}

std::optional<std::string> Snapshot::capture(const Replica& replica) {
  describe(replica);
  const fusion::ArenaMemory& memory = replica.exchange().memory();
  std::byte* next = arrays_.reserve((1 + states_.size()) * array_bytes_);
  const std::optional<std::string> nonfinite = replica.dtype() == DType::f64
                                                   ? copy_parameters<double>(memory.parameters, next)
                                                   : copy_parameters<float>(memory.parameters, next);
  for (const std::byte* state : memory.states)
    std::memcpy(next += array_bytes_, state, array_bytes_);

  buffers_.clear();
  std::size_t buffer_bytes = 0;
  for (const auto& [name, tensor] : replica.buffers()) {
    buffers_.push_back({name, dtype_of(tensor), tensor.sizes().vec(), tensor.strides().vec(), buffer_bytes,
                        tensor.nbytes()});
    buffer_bytes += (tensor.nbytes() + 63) / 64 * 64;
  }
  std::byte* buffers = buffered_.reserve(buffer_bytes);
  std::size_t i = 0;
  for (const auto& [name, tensor] : replica.buffers())
    std::memcpy(buffers + buffers_[i++].offset, tensor.const_data_ptr(), tensor.nbytes());
  bytes_ = (1 + states_.size()) * array_bytes_ + buffer_bytes;
  return nonfinite;
}

std::size_t Snapshot::bytes_to_arrange() const {
  std::size_t bytes = 0;
  for (const Entry& entry : parameters_)
    if (!is_contiguous(entry.shape, entry.strides)) bytes += entry.bytes;
  return bytes * (1 + states_.size());
}

io::TensorView Snapshot::arrange(const Entry& entry, const std::byte* source, std::byte*& next) const {
  if (is_contiguous(entry.shape, entry.strides))
    return {entry.name, entry.type, entry.shape, {source, entry.bytes}};
  if (!is_channels_last(entry.shape, entry.strides)) {
    reorder(source, next, entry.shape, entry.strides, size_of(entry.type));
  } else if (entry.type == DType::f64) {
    reorder_channels_last<double>(source, next, entry.shape);
  } else {
    reorder_channels_last<float>(source, next, entry.shape);
  }
  return {entry.name, entry.type, entry.shape, {std::exchange(next, next + entry.bytes), entry.bytes}};
}

io::CheckpointView Snapshot::view() {
  io::CheckpointView result;
  std::byte* next = arranged_.reserve(bytes_to_arrange());
  const std::byte* array = arrays_.data.get();
  for (const Entry& entry : parameters_)
    result.model.push_back(arrange(entry, array + entry.offset, next));
  for (const std::string& state : states_) {
    array += array_bytes_;
    for (const Entry& entry : parameters_)
      result.optimizer[state].push_back(arrange(entry, array + entry.offset, next));
  }
  for (const Entry& entry : buffers_)
    result.buffers.push_back(arrange(entry, buffered_.data.get() + entry.offset, next));
  return result;
}

}  // namespace kolo::train
