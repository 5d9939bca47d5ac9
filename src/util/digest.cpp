#include "kolo/util/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kolo::util {

std::uint64_t digest(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
std::uint64_t digest(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string to_hex(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4)
    text[static_cast<std::size_t>(i)] = kDigits[value & 15];
  return text;
}

struct Digest::State {
  XXH3_state_t xxh;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

Digest& Digest::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Digest& Digest::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

std::uint64_t Digest::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace kolo::util
