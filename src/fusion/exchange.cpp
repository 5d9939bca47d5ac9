#include "kolo/fusion/exchange.hpp"

#include <fmt/format.h>

#include "allreduce_exchange.hpp"
#include "kolo/comm/shared_buffer.hpp"
#include "kolo/util/error.hpp"
#include "shared_exchange.hpp"

namespace kolo::fusion {
namespace {

std::string first_of(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::size_t shared_window_bytes(const BucketPlan& plan, DType type, std::size_t states, int ranks_on_node) {
  return (1 + states + static_cast<std::size_t>(ranks_on_node)) * static_cast<std::size_t>(plan.size) *
         size_of(type);
}

StrategyChoice choose_strategy(config::Strategy asked, const BucketPlan& plan, DType type, std::size_t states,
                               const comm::Communicator& world) {
  if (asked == config::Strategy::allreduce) return {};
  comm::Communicator node = world.split_by_node();
  const auto on_node = static_cast<std::int64_t>(node.size());
  const std::size_t window_bytes = shared_window_bytes(plan, type, states, node.size());
  const bool looks = node.rank() == 0;
  node.close();
  const std::int64_t most = world.all_reduce(on_node, comm::Op::max);
  const std::int64_t least = world.all_reduce(on_node, comm::Op::min);
  const std::string lack =
      first_of(world.all_gather(looks ? comm::SharedBuffer::lacks_room_for(window_bytes).value_or("") : ""));
  if (most == 1) {
    return {config::Strategy::allreduce,
            asked == config::Strategy::shared ? "no node has more than one rank" : ""};
  }
  if (most != least)
    return {config::Strategy::allreduce, fmt::format("nodes have {} to {} ranks", least, most)};
  if (!lack.empty()) return {config::Strategy::allreduce, lack};
  return {config::Strategy::shared, ""};
}

std::unique_ptr<Exchange> make_exchange(config::Strategy chosen, const BucketPlan& plan, DType type,
                                        std::size_t states, const config::MemorySection& pages,
                                        const comm::Communicator& world, comm::Communicator group) {
  switch (chosen) {
    case config::Strategy::allreduce:
      group.close();
      return std::make_unique<AllreduceExchange>(plan, type, states, world);
    case config::Strategy::shared:
      return std::make_unique<SharedExchange>(plan, type, states, pages, world, std::move(group));
    case config::Strategy::automatic:
      break;
  }
  throw Error(ExitCode::internal, "an exchange strategy that nobody chose");
}

}  // namespace kolo::fusion
