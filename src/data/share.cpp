#include "kolo/data/share.hpp"

#include <algorithm>

namespace kolo::data {
namespace {

// Part `index` of `parts` contiguous parts of `count`, the first ones one longer where it does not divide.
Range part(std::int64_t count, std::int64_t index, std::int64_t parts) {
  const std::int64_t base = count / parts;
  const std::int64_t longer = count % parts;
  const std::int64_t begin = index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

}  // namespace

Range share(std::int64_t count, int rank, int world_size, std::int64_t min_per_rank) {
  const std::int64_t participants = std::min<std::int64_t>(world_size, count / min_per_rank);
  if (rank >= participants) return {count, count};
  return part(count, rank, participants);
}

std::vector<Range> micro_batches(Range share, std::int64_t batch_per_rank, std::int64_t min_size) {
  const std::int64_t size = share.size();
  if (size == 0) return {};
  const std::int64_t wanted = (size + batch_per_rank - 1) / batch_per_rank;
  const std::int64_t pieces = std::max<std::int64_t>(1, std::min(wanted, size / min_size));
  std::vector<Range> ranges;
  ranges.reserve(static_cast<std::size_t>(pieces));
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Range piece = part(size, i, pieces);
    ranges.push_back({share.begin + piece.begin, share.begin + piece.end});
  }
  return ranges;
}

}  // namespace kolo::data
