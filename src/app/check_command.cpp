#include <algorithm>

#include "kolo/app/commands.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/handshake.hpp"
#include "kolo/data/loader.hpp"
#include "kolo/train/loader_options.hpp"
#include "kolo/util/log.hpp"

namespace kolo::app {
namespace {

// The first batch and the last sample, through the loader: what a damaged disk or a bad transform would show
// first.
void touch(const data::Dataset& set, const data::LoaderOptions& options, std::int64_t batch) {
  const data::BatchRequest ends[] = {{0, 0, std::min(batch, set.size())}, {0, set.size() - 1, set.size()}};
  std::size_t next = 0;
  data::Loader loader(set, options, [&]() -> std::optional<data::BatchRequest> {
    return next < std::size(ends) ? std::optional(ends[next++]) : std::nullopt;
  });
  while (loader.next()) {
  }
}

}  // namespace

ExitCode check_command(RunContext& run) {
  comm::require_same(run.world(), handshake_items(run));
  const std::shared_ptr<model::Network> network = open_data_and_network(run);
  const train::Geometry geometry = plan_geometry(run, *network);
  comm::agree(run.world(), [&] {
    const config::Config& config = run.config();
    touch(run.data->train, train::training_options(config), geometry.global_batch());
    if (run.data->val) touch(*run.data->val, train::evaluation_options(config), config.train.eval_batch);
    if (run.data->test) touch(*run.data->test, train::evaluation_options(config), config.train.eval_batch);
  });
  const fusion::StrategyChoice choice = train::choose_strategy(*network, run.config(), run.world());
  comm::agree(run.world(), [&] {
    if (!run.is_root()) return;
    for (const std::string& line : describe_plan(run, *network, geometry, choice))
      util::log(line);
    util::log("check: the deck and the data are fine");
  });
  return ExitCode::finished;
}

}  // namespace kolo::app
