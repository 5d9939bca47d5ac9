#include "kolo/bench/copy_bandwidth.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kolo/bench/quantile.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/util/time.hpp"

namespace kolo::bench {
namespace {

// What is copied between two looks at the clock: a millisecond, not the clock's own cost and not the ranks'
// different starts.
constexpr std::size_t kBytesTimed = std::size_t{16} << 20;
constexpr std::size_t kMostCopies = 1 << 16;

// A compiler drops copies that nobody reads, unless it cannot know what it calls.
void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy;

struct Arrays {
  std::vector<std::byte> from;
  std::vector<std::byte> to;
};

}  // namespace

double copy_bandwidth(const comm::Communicator& node, std::size_t bytes, int repetitions) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::size_t copies = std::clamp<std::size_t>(kBytesTimed / size, 1, kMostCopies);
  Arrays arrays = comm::agree(node, [size] {
    return Arrays{std::vector<std::byte>(size, std::byte{1}), std::vector<std::byte>(size)};
  });
  std::vector<double> seconds(static_cast<std::size_t>(std::max(repetitions, 1)));
  for (double& elapsed : seconds) {
    node.barrier();
    const util::Stopwatch watch;
    for (std::size_t i = 0; i < copies; ++i)
      copy(arrays.to.data(), arrays.from.data(), size);
    elapsed = watch.seconds();
  }
  node.all_reduce(seconds, comm::Op::max);
  const double moved = 2.0 * static_cast<double>(size) * static_cast<double>(copies) * node.size();
  return moved / median(std::move(seconds));
}

}  // namespace kolo::bench
