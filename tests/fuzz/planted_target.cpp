// A target with one fault of every kind on purpose: test_driver.py sees to it that each is reported.
//
// Input: the name of a fault; any other input is fine.
#include <climits>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "fuzz/require.hpp"

namespace {

void read_behind_the_end(std::size_t size) {
  const std::vector<char> block(size);
  volatile char read = block.data()[size];
  static_cast<void>(read);
}

void overflow(std::size_t size) {
  volatile int sum = INT_MAX;
  sum = sum + static_cast<int>(size);
}

void leak(std::size_t size) {
  volatile auto lost = reinterpret_cast<std::uintptr_t>(new char[size]);
  lost = lost + 1;
  lost = 0;
}

void allocate_a_gigabyte() {
  const std::vector<char> block(std::size_t{1} << 30);
  volatile char read = block.front();
  static_cast<void>(read);
}

void hang() {
  for (volatile bool forever = true; forever;) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view fault(reinterpret_cast<const char*>(data), size);
  if (fault == "read") read_behind_the_end(size);
  if (fault == "overflow") overflow(size);
  if (fault == "exception") throw std::runtime_error("planted");
  if (fault == "require") kolo::fuzz::require(false, "planted");
  if (fault == "memory") allocate_a_gigabyte();
  if (fault == "leak") leak(size);
  if (fault == "hang") hang();
  return 0;
}
