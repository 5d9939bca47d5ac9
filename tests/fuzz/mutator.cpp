#include "fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>

namespace kolo::fuzz {
namespace {

constexpr auto kBytes = std::to_array<std::uint8_t>(
    {0,    1,   2,   3,   4,   8,   0x1f, 0x7f, 0x80, 0x8b, 0xfe, 0xff, '\n', '\r',
     '\t', ' ', '#', '=', '[', ']', ',',  '.',  '-',  '+',  '0',  '9',  'e',  'x'});

constexpr auto kIntegers = std::to_array<std::uint64_t>(
    {0, 1, 2, 0xff, 0x100, 511, 512, 513, 1032, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
     0x100000000, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::uint64_t>::max()});

constexpr auto kWords = std::to_array<std::string_view>({"-1",
                                                         "1e400",
                                                         "-1e-400",
                                                         "nan",
                                                         "-inf",
                                                         "0x10",
                                                         "9223372036854775807",
                                                         "9223372036854775808",
                                                         "18446744073709551616",
                                                         "1,,2",
                                                         ", ",
                                                         " # ",
                                                         "[train]\n",
                                                         "[data]\n",
                                                         "epochs = 1\n",
                                                         "format = idx\n",
                                                         "\xEF\xBB\xBF",
                                                         "\xFFrun.seed=7",
                                                         "\xFFoptimizer.lr=0.5",
                                                         "true",
                                                         "auto"});

}  // namespace

Input Mutator::next() {
  static constexpr auto kEdits =
      std::to_array<Edit>({&Mutator::flip_bit, &Mutator::overwrite_byte, &Mutator::overwrite_integer,
                           &Mutator::insert_byte, &Mutator::insert_word, &Mutator::truncate,
                           &Mutator::erase_range, &Mutator::duplicate_range, &Mutator::splice});
  Input input = corpus_[below(corpus_.size())];
  // Mostly one: with many edits at once, the first check of a parser hides what lies behind it.
  for (std::size_t left = 1 + below(1 + below(4)); left > 0; --left)
    (this->*kEdits[below(kEdits.size())])(input);
  input.resize(std::min(input.size(), kMaxInputBytes));
  return input;
}

std::size_t Mutator::place(std::size_t size) {
  constexpr std::size_t kHeader = 40;
  return below(below(2) == 0 ? std::min(size, kHeader) : size);
}

void Mutator::flip_bit(Input& input) {
  if (!input.empty()) input[place(input.size())] ^= static_cast<std::uint8_t>(1U << below(8));
}

void Mutator::overwrite_byte(Input& input) {
  if (input.empty()) return;
  input[place(input.size())] =
      below(2) == 0 ? kBytes[below(kBytes.size())] : static_cast<std::uint8_t>(random_());
}

void Mutator::overwrite_integer(Input& input) {
  const std::size_t width = std::size_t{2} << below(3);
  if (input.size() < width) return;
  const std::size_t at = place(input.size() - width + 1);
  const bool big_endian = below(2) == 0;
  const std::uint64_t value = kIntegers[below(kIntegers.size())];
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t from_low = big_endian ? width - 1 - i : i;
    input[at + i] = static_cast<std::uint8_t>(value >> (8 * from_low));
  }
}

void Mutator::insert_byte(Input& input) {
  const auto at = static_cast<std::ptrdiff_t>(place(input.size() + 1));
  input.insert(input.begin() + at, kBytes[below(kBytes.size())]);
}

void Mutator::insert_word(Input& input) {
  const std::string_view word = kWords[below(kWords.size())];
  const auto at = static_cast<std::ptrdiff_t>(place(input.size() + 1));
  input.insert(input.begin() + at, word.begin(), word.end());
}

void Mutator::truncate(Input& input) { input.resize(below(input.size() + 1)); }

void Mutator::erase_range(Input& input) {
  const std::size_t at = place(input.size());
  const std::size_t count = below(std::min<std::size_t>(input.size() - at, 64) + 1);
  const auto first = input.begin() + static_cast<std::ptrdiff_t>(at);
  input.erase(first, first + static_cast<std::ptrdiff_t>(count));
}

void Mutator::duplicate_range(Input& input) {
  const std::size_t at = place(input.size());
  const std::size_t count = below(input.size() - at + 1);
  const auto first = input.begin() + static_cast<std::ptrdiff_t>(at);
  const Input copy(first, first + static_cast<std::ptrdiff_t>(count));
  input.insert(first, copy.begin(), copy.end());
}

void Mutator::splice(Input& input) {
  const Input& other = corpus_[below(corpus_.size())];
  input.resize(below(input.size() + 1));
  std::copy(other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)), other.end(),
            std::back_inserter(input));
}

}  // namespace kolo::fuzz
