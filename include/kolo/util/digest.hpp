// 64-bit XXH3 digests, for telling whether two ranks hold the same thing and whether a file is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kolo::util {

std::uint64_t digest(std::span<const std::byte> bytes);
std::uint64_t digest(std::string_view text);

/// Sixteen lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

/// A digest over many pieces.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  Digest& add(std::span<const std::byte> bytes);
  Digest& add(std::string_view text);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kolo::util
