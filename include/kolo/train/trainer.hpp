// The epoch loop: steps, evaluation, metrics, best model, checkpoints, early stop, final test.
//
// The trainer decides; it prints nothing and knows no files but through the interfaces below, which only rank
// 0 fills in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/data_sets.hpp"
#include "kolo/data/loader.hpp"
#include "kolo/optim/schedule.hpp"
#include "kolo/train/geometry.hpp"
#include "kolo/train/replica.hpp"
#include "kolo/train/run_state.hpp"
#include "kolo/train/snapshot.hpp"
#include "kolo/train/step.hpp"

namespace kolo::train {

/// The columns of a metrics row, in order.
const std::vector<std::string>& metric_columns();

/// Watches a run; called on rank 0 only.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step_done(const RunState& state, double lr) = 0;
  virtual void epoch_done(const std::vector<double>& row, bool is_best) = 0;
};

/// Keeps checkpoints and metrics, in the order they come, on a thread of its own; called on rank 0 only. What
/// fails there is thrown by the next call of check() or wait().
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Begins to save what `make` returns.  It is called once, before the next wait() returns or after the
  /// trainer is gone; what it returns stays valid until then, or as long as `make` lives.
  virtual void save(std::function<io::CheckpointView()> make, std::int64_t step, bool is_best) = 0;
  virtual void add_row(const std::vector<double>& row) = 0;
  /// The checkpoint saved at `step` turned out to be the best.
  virtual void mark_best(std::int64_t step) = 0;
  virtual io::Checkpoint load_best(std::int64_t step) = 0;
  virtual void check() = 0;
  /// Until everything is on disk.
  virtual void wait() = 0;
};

enum class EndReason { completed, max_steps, early_stop, stopped };

struct Outcome {
  EndReason reason = EndReason::completed;
  std::string detail;  ///< e.g. what stopped it
  RunState state;
  std::optional<Sums> test;  ///< with the best model; nothing without a test set or when it was stopped
  std::int64_t epochs_here = 0;
  double samples_per_s = 0;  ///< training samples a second of this start, evaluation left out
  StepTimes times;           ///< of this start, mean over ranks
  double eval_seconds = 0;
  double checkpoint_seconds = 0;
};

struct TrainerOptions {
  std::optional<std::int64_t> stop_after_epochs;
  bool save_at_start = false;  ///< a new run whose weights nothing else would bring back
  StopPoll poll;
  std::string config_text;  ///< effective deck, stored in checkpoints
  RunIdentity identity;
};

class Trainer {
 public:
  /// `observer` and `keeper` are null on all ranks but 0.  All references must outlive the trainer.
  Trainer(const config::Config& config, Replica& replica, const data::DataSets& data,
          const Geometry& geometry, const comm::Communicator& world, TrainerOptions options,
          Observer* observer, Keeper* keeper);

  /// Rank 0 passes the checkpoint to go on from, the others null; collective.
  void resume(const io::Checkpoint* checkpoint);
  /// Trains to the end, or until asked to stop.  Collective.
  Outcome run();

 private:
  enum class EpochEnd { complete, stopped, max_steps };
  EpochEnd train_epoch(data::Loader& loader);
  StepRequest make_request() const;
  void note_step(const StepResult& result, double seconds);
  struct EpochResult {
    std::vector<double> row;
    bool is_best;
  };
  /// Nothing when it was stopped.
  std::optional<EpochResult> evaluate_epoch();
  void publish(const EpochResult& result);
  void require_finite_loss(const Sums& sums, std::string_view set) const;
  bool finish_epoch();  // false when its evaluation was stopped
  Outcome finish_cut_epoch();
  bool stop_before_start();
  Outcome finish_stopped();
  std::vector<double> make_row(const std::optional<Sums>& val, double eval_seconds) const;
  bool note_result(const std::optional<Sums>& val);
  void take_latest_as_best(std::int64_t epoch);
  bool due_by_steps() const;
  void save(bool is_best);
  void check_keeper() const;
  void wait_for_keeper();
  bool patience_exhausted() const;
  bool out_of_steps() const;
  Outcome finish(EndReason reason, std::string detail);
  std::optional<Sums> final_test();
  std::function<std::optional<data::BatchRequest>()> requests() const;
  StepTimes mean_over_ranks(const StepTimes& times) const;
  double learning_rate(std::int64_t step) const { return schedule_.lr(step); }

  const config::Config& config_;
  Replica& replica_;
  const data::DataSets& data_;
  const Geometry& geometry_;
  const comm::Communicator& world_;
  TrainerOptions options_;
  Observer* observer_;
  Keeper* keeper_;
  optim::Schedule schedule_;
  TrainStep step_;
  RunState state_;
  io::MetricTable table_;  // rank 0
  // Rank 0.  Shared with the keeper, which may still be saving when an error has ended the trainer.
  std::shared_ptr<Snapshot> snapshot_ = std::make_shared<Snapshot>();
  StopFlags stop_;
  Outcome totals_;
  double samples_here_ = 0;
  double train_seconds_here_ = 0;
};

/// Updates in the whole training: epochs x steps an epoch, or train.max_steps where that is less.
std::int64_t total_steps(const config::TrainSection& section, std::int64_t steps_per_epoch);

}  // namespace kolo::train
