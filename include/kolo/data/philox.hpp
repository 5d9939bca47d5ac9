// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC11).
//
// A draw is a pure function of (seed, counter), so that what happens to a sample never depends on the rank
// that holds it, on the batch it is in or on what was drawn before.  Every use has its own Stream, which is
// one word of the counter: two uses of the same seed never see the same numbers.  Nothing here depends on the
// standard library's distributions, whose results differ between implementations.
#pragma once

#include <array>
#include <cstdint>

namespace kolo::data {

/// What a draw is for.
enum class Stream : std::uint32_t { order = 1, augment, split, prototype, noise, dropout };

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Four random words; `key` is the seed, low word first.
constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {
        static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
        static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

/// Draw number `index` of a stream; `variant` (an epoch, a part of a sample) separates draws of the same
/// index.
constexpr PhiloxBlock draw(std::uint64_t seed, Stream stream, std::uint64_t index, std::uint64_t variant) {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 static_cast<std::uint32_t>(variant), static_cast<std::uint32_t>(stream)},
                seed);
}

/// `word` mapped to 0 .. n-1 for a small n; the bias is below n / 2^32.
constexpr std::int64_t scale_to(std::uint32_t word, std::int64_t n) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(n)) >> 32);
}

/// A sequence of draws of one (seed, stream, variant).
class RandomSequence {
 public:
  RandomSequence(std::uint64_t seed, Stream stream, std::uint64_t variant)
      : seed_(seed), stream_(stream), variant_(variant) {}

  std::uint64_t next() {
    if (used_ == 2) {
      block_ = draw(seed_, stream_, index_++, variant_);
      used_ = 0;
    }
    const std::size_t at = 2 * used_++;
    return std::uint64_t{block_[at]} | std::uint64_t{block_[at + 1]} << 32;
  }

  /// Unbiased 0 .. n-1, n > 0 (Lemire: "Fast Random Integer Generation in an Interval", 2019).
  std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    Wide product = Wide{next()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = Wide{next()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  std::uint64_t seed_;
  Stream stream_;
  std::uint64_t variant_;
  std::uint64_t index_ = 0;
  PhiloxBlock block_{};
  std::size_t used_ = 2;
};

}  // namespace kolo::data
