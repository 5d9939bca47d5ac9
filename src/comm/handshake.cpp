#include "kolo/comm/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kolo/comm/agree.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::comm {
namespace {

std::string item_or_nothing(const std::vector<std::string>& items, std::size_t index) {
  return index < items.size() ? "\"" + items[index] + "\"" : "nothing";
}

void compare(int rank, const std::vector<std::string>& mine, const std::vector<std::string>& expected) {
  const std::size_t count = std::max(mine.size(), expected.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i < mine.size() && i < expected.size() && mine[i] == expected[i]) continue;
    throw CommError(fmt::format("ranks 0 and {} disagree at item {}: rank 0 has {}, rank {} has {}", rank,
                                i + 1, item_or_nothing(expected, i), rank, item_or_nothing(mine, i)),
                    "start every rank with the same executable, deck and data");
  }
}

}  // namespace

void require_same(const Communicator& world, const std::vector<std::string>& items) {
  const std::string text = util::join(items, "\n");
  const auto mine = static_cast<std::int64_t>(util::digest(text));
  const std::int64_t differs = mine == world.broadcast(mine, 0) ? 0 : 1;
  if (world.all_reduce(differs, Op::max) == 0) return;
  const std::vector<std::string> expected = util::split(world.broadcast(text, 0), '\n');
  agree(world, [&] { compare(world.rank(), util::split(text, '\n'), expected); });
}

}  // namespace kolo::comm
