#include <algorithm>

#include "doctor_json.hpp"
#include "doctor_parts.hpp"
#include "kolo/bench/allreduce.hpp"
#include "kolo/bench/compute.hpp"
#include "kolo/bench/copy_bandwidth.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/choices.hpp"

namespace kolo::app {
namespace {

constexpr double kSeconds = 0.25;  // a measurement
constexpr std::size_t kCopyBytes = std::size_t{64} << 20;
constexpr int kCopies = 5;
constexpr std::int64_t kElements = std::int64_t{4} << 20;
constexpr int kWarmup = 2, kRepetitions = 10;

RankSpeed measure_rank(const comm::Communicator& world) {
  using bench::ComputeType;
  const auto together = [&world](auto measure, ComputeType type) {
    world.barrier();
    return comm::agree(world, [&] { return measure(type, kSeconds); });
  };
  RankSpeed speed;
  speed.product_fp32 = together(bench::product_speed, ComputeType::fp32);
  speed.product_bf16 = together(bench::product_speed, ComputeType::bf16);
  speed.convolution_fp32 = together(bench::convolution_speed, ComputeType::fp32);
  speed.convolution_bf16 = together(bench::convolution_speed, ComputeType::bf16);
  return speed;
}

ExchangeFacts measure_exchange(config::Strategy strategy, const comm::Communicator& world) {
  ExchangeFacts facts;
  facts.strategy = config::name_of(strategy);
  try {
    const bench::AllreduceResult result =
        bench::measure_allreduce({strategy, DType::f32, kElements}, world, kWarmup, kRepetitions);
    facts.correct = result.correct;
    facts.seconds = result.seconds;
    const double traffic = static_cast<double>(kElements) * static_cast<double>(size_of(DType::f32)) * 2 *
                           (world.size() - 1) / world.size();
    facts.bus_speed = result.seconds > 0 ? traffic / result.seconds : 0;
  } catch (const comm::AgreedError& error) {
    facts.failure = error.what();
  }
  return facts;
}

// The shared exchange wants as many ranks on each node, more than one.
bool shares_evenly(const std::vector<HostFacts>& hosts) {
  const int ranks = hosts.front().ranks;
  return ranks > 1 &&
         std::ranges::all_of(hosts, [ranks](const HostFacts& host) { return host.ranks == ranks; });
}

}  // namespace

void measure_speeds(RunContext& run, DoctorFacts& facts) {
  const comm::Communicator& world = run.world();
  const std::vector<std::string> speeds = world.all_gather(Json(measure_rank(world)).dump());
  for (std::size_t i = 0; i < speeds.size(); ++i)
    facts.ranks[i].speed = Json::parse(speeds[i]).get<RankSpeed>();
  const std::vector<double> copies =
      world.all_gather(bench::copy_bandwidth(run.mpi->node(), kCopyBytes, kCopies));
  for (HostFacts& host : facts.hosts)
    host.copy_speed = copies[static_cast<std::size_t>(host.first_rank)];
  if (world.size() == 1) return;
  if (shares_evenly(facts.hosts))
    facts.exchanges.push_back(measure_exchange(config::Strategy::shared, world));
  facts.exchanges.push_back(measure_exchange(config::Strategy::allreduce, world));
}

}  // namespace kolo::app
