#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kolo/config/choices.hpp"
#include "kolo/config/load.hpp"
#include "kolo/config/option_table.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"

namespace kolo::config {
namespace {

class CrossCheck {
 public:
  explicit CrossCheck(const LoadedConfig& loaded) : loaded_(loaded) {}

  void data() const {
    const DataSection& data = loaded_.config.data;
    const bool from_files = data.format != DataFormat::synthetic;
    if (from_files && data.path.empty()) fail("data.format", "data.path to say where the data set is");
    // Training on random images because one line is missing would go unnoticed for long.
    if (!from_files && !data.path.empty() && !loaded_.is_set("data.format")) {
      fail("data.path", "data.format to say what the files are");
    }
  }

  void optimizer() const {
    const OptimizerSection& optimizer = loaded_.config.optimizer;
    if (optimizer.nesterov && optimizer.momentum == 0) {
      fail("optimizer.nesterov", "optimizer.momentum > 0 with it");
    }
    if (optimizer.scale_lr != ScaleLr::none && optimizer.reference_batch == 0) {
      fail("optimizer.scale_lr",
           "optimizer.reference_batch, the global batch that optimizer.lr was chosen for");
    }
  }

  void schedule() const {
    const ScheduleSection& schedule = loaded_.config.schedule;
    const std::int64_t epochs = loaded_.config.train.epochs;
    if (schedule.warmup_epochs > static_cast<double>(epochs)) {
      fail("schedule.warmup_epochs", fmt::format("at most train.epochs = {}", epochs));
    }
    const std::vector<double>& milestones = schedule.milestones;
    if (std::ranges::adjacent_find(milestones, std::greater_equal()) != milestones.end()) {
      fail("schedule.milestones", "each epoch to be larger than the one before");
    }
    if (schedule.name == ScheduleName::multistep && milestones.empty()) {
      fail("schedule.name", "schedule.milestones, the epochs at which the learning rate changes");
    }
    const double lr = loaded_.config.optimizer.lr;
    if (schedule.name == ScheduleName::cosine && schedule.min_lr > lr) {
      fail("schedule.min_lr", fmt::format("at most optimizer.lr = {}", lr));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    Config copy = loaded_.config;
    const std::string value = OptionTable(copy).find(key)->print();
    throw ConfigError(
        fmt::format("{}: {} = {}: expected {}", loaded_.origin(key), key, shown(value), expected));
  }

  const LoadedConfig& loaded_;
};

}  // namespace

void cross_check(const LoadedConfig& loaded) {
  const CrossCheck check(loaded);
  check.data();
  check.optimizer();
  check.schedule();
}

}  // namespace kolo::config
