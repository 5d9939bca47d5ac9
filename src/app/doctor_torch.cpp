// The part of `kolo doctor` that needs libtorch: its facts, and the size of the deck's model.
#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include <cstdlib>

#include "doctor_parts.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/shared_buffer.hpp"
#include "kolo/train/replica.hpp"

namespace kolo::app {
namespace {

// ResNet-50 without its last layer, with Adam.
constexpr std::size_t kReferenceParameters = 23'500'000;
constexpr std::size_t kReferenceStates = 2;

// What a window holds, by number of ranks.
struct Window {
  fusion::BucketPlan plan;
  std::size_t states = kReferenceStates;
  DType type = DType::f32;
};

Window reference_window() {
  Window window;
  window.plan.size = kReferenceParameters;
  return window;
}

Window window_of_deck(RunContext& run) {
  const std::shared_ptr<model::Network> network = open_data_and_network(run);
  const config::Config& config = run.config();
  Window window;
  window.type = config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  window.plan = train::plan_for(*network, config.comm);
  window.states =
      train::make_arena_optimizer(config.optimizer, window.plan, window.type)->state_names().size();
  return window;
}

// Each host's own answer, from its first rank.
void look_for_room(const RunContext& run, const Window& window, DoctorFacts& facts) {
  const auto needed = [&window](int ranks) {
    return fusion::shared_window_bytes(window.plan, window.type, window.states, ranks);
  };
  const comm::Communicator& node = run.mpi->node();
  std::string lack;
  if (node.rank() == 0) lack = comm::SharedBuffer::lacks_room_for(needed(node.size())).value_or("");
  const std::vector<std::string> lacks = run.world().all_gather(lack);
  for (HostFacts& host : facts.hosts) {
    host.window_bytes = static_cast<std::int64_t>(needed(host.ranks));
    host.lacks_room = lacks[static_cast<std::size_t>(host.first_rank)];
  }
}

void close_data(RunContext& run) {
  if (!run.data) return;
  run.data->close();
  run.data.reset();
}

}  // namespace

TorchFacts torch_facts(const RunContext& run) {
  TorchFacts facts;
  facts.version = TORCH_VERSION;
  facts.onednn = at::get_mkldnn_version();
  facts.onednn = facts.onednn.substr(0, facts.onednn.find(" ("));
  facts.capability = cpu_capability();
  const char* asked = std::getenv("ATEN_CPU_CAPABILITY");
  facts.asked_capability = asked == nullptr ? "" : asked;
  facts.memory = run.memory;
  return facts;
}

std::string cpu_capability() { return at::get_cpu_capability(); }

void add_window_size(RunContext& run, DoctorFacts& facts) {
  if (run.config().comm.strategy == config::Strategy::allreduce) return;
  Window window = reference_window();
  facts.window_model = "a ResNet-50 with Adam";
  if (!run.deck_name.empty() || run.loaded.is_set("model.name")) {
    try {
      window = window_of_deck(run);
      facts.window_model = run.config().model.name;
    } catch (const comm::AgreedError& error) {
      facts.deck_problem = error.what();
    }
  }
  look_for_room(run, window, facts);  // while the data hold their part of it, as in a run
  close_data(run);
}

}  // namespace kolo::app
