// A block of bytes that is about to be filled.
//
// Checkpoints may be gigabytes: std::vector would first write zeros over all of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace kolo::io {

class Bytes {
 public:
  /// `size` uninitialised bytes.
  explicit Bytes(std::size_t size) : data_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}

  std::size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_;
};

}  // namespace kolo::io
