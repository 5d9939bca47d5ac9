// Inputs for a fuzz target, made from the files of its corpus by small random edits.
//
// The edits are those that parsers of headers and lines are known to stumble over: a bit or a byte changed,
// an integer at the ends of its range in either byte order, a word that is nearly a number, parts cut off,
// doubled or taken from another file.  Half of them fall into the first bytes, where headers are.  The
// sequence follows from corpus and seed alone, so a finding comes back with the same arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kolo::fuzz {

using Input = std::vector<std::uint8_t>;

/// No input is longer.  It bounds what a reader of compressed data may rightly allocate (1032 times as much).
inline constexpr std::size_t kMaxInputBytes = std::size_t{16} << 10;

class Mutator {
 public:
  /// `corpus` has at least one input.
  Mutator(std::vector<Input> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {}

  Input next();

 private:
  using Edit = void (Mutator::*)(Input&);

  /// A number in 0 .. limit-1; 0 for a limit of 0.
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  /// A place in 0 .. size-1, near the start every other time.
  std::size_t place(std::size_t size);

  void flip_bit(Input& input);
  void overwrite_byte(Input& input);
  void overwrite_integer(Input& input);
  void insert_byte(Input& input);
  void insert_word(Input& input);
  void truncate(Input& input);
  void erase_range(Input& input);
  void duplicate_range(Input& input);
  void splice(Input& input);

  std::vector<Input> corpus_;
  std::mt19937_64 random_;
};

}  // namespace kolo::fuzz
