// The trainer's other half: what an epoch came to.  Evaluation, the best model, metrics rows, checkpoints,
// the final test.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <map>

#include "kolo/comm/agree.hpp"
#include "kolo/train/diverged_hint.hpp"
#include "kolo/train/evaluate.hpp"
#include "kolo/train/trainer.hpp"
#include "kolo/util/time.hpp"

namespace kolo::train {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

const std::vector<std::string>& metric_columns() {
  static const std::vector<std::string> columns = {
      "epoch",        "step",       "lr",         "train_loss",    "train_top1", "train_top5",
      "val_loss",     "val_top1",   "val_top5",   "samples_per_s", "seconds",    "data_s",
      "forward_s",    "backward_s", "exchange_s", "update_s",      "eval_s",     "checkpoint_s",
      "global_batch", "world_size", "parameters", "skipped_steps"};
  return columns;
}

std::optional<Trainer::EpochResult> Trainer::evaluate_epoch() {
  const util::Stopwatch watch;
  replica_.pulse().enter(comm::Phase::evaluation);
  replica_.require_equal(world_);
  replica_.require_finite(state_.step);
  comm::agree(world_, [&] {
    if (state_.sums.samples > 0 || state_.skipped == 0) return;
    throw DivergedError(
        fmt::format("epoch {}: not one of {} steps had finite gradients", state_.epoch + 1, state_.skipped),
        kDivergedHint);
  });
  std::optional<Sums> val;
  if (data_.val) {
    const Evaluation evaluation =
        evaluate(replica_.network(), *data_.val, config_, world_, options_.poll, replica_.pulse());
    stop_ = evaluation.stop;
    val = evaluation.sums;
  }
  const double eval_seconds = watch.seconds();
  totals_.eval_seconds += eval_seconds;
  if (stop_.any()) return std::nullopt;
  if (val) require_finite_loss(*val, "validation");
  const bool is_best = note_result(val);
  return EpochResult{make_row(val, eval_seconds), is_best};
}

void Trainer::publish(const EpochResult& result) {
  if (keeper_ != nullptr) keeper_->add_row(result.row);
  if (observer_ != nullptr) observer_->epoch_done(result.row, result.is_best);
}

void Trainer::require_finite_loss(const Sums& sums, std::string_view set) const {
  comm::agree(world_, [&] {
    if (std::isfinite(sums.loss)) return;
    throw DivergedError(fmt::format("after step {}: the {} loss is not finite", state_.step, set),
                        kDivergedHint);
  });
}

bool Trainer::note_result(const std::optional<Sums>& val) {
  if (!val) return false;  // nothing to choose by
  const double top1 = val->top1_fraction();
  if (top1 > state_.patience_reference + config_.train.early_stop_min_delta || state_.epoch == 0) {
    state_.patience_reference = top1;
    state_.epochs_without_gain = 0;
  } else {
    ++state_.epochs_without_gain;
  }
  if (state_.best_epoch != 0 && top1 <= state_.best_val_top1) return false;
  state_.best_val_top1 = top1;
  take_latest_as_best(state_.epoch + 1);
  return true;
}

std::vector<double> Trainer::make_row(const std::optional<Sums>& val, double eval_seconds) const {
  const Sums& train = state_.sums;
  const StepTimes times = mean_over_ranks(state_.times);
  std::array<double, 3> phases = {state_.train_seconds, eval_seconds, state_.checkpoint_seconds};
  world_.all_reduce(phases, comm::Op::sum);
  for (double& phase : phases)
    phase /= world_.size();
  const auto [train_seconds, mean_eval_seconds, checkpoint_seconds] = phases;
  return {static_cast<double>(state_.epoch + 1),
          static_cast<double>(state_.step),
          learning_rate(std::max<std::int64_t>(state_.step, 1) - 1),
          train.mean_loss(),
          train.top1_fraction(),
          train.top5_fraction(),
          val ? val->mean_loss() : kMissing,
          val ? val->top1_fraction() : kMissing,
          val ? val->top5_fraction() : kMissing,
          train_seconds > 0
              ? static_cast<double>(geometry_.step(state_.step_in_epoch - 1).end) / train_seconds
              : kMissing,
          train_seconds + mean_eval_seconds + checkpoint_seconds,
          times.data,
          times.forward,
          times.backward,
          times.exchange,
          times.update,
          mean_eval_seconds,
          checkpoint_seconds,
          static_cast<double>(geometry_.global_batch()),
          static_cast<double>(world_.size()),
          static_cast<double>(replica_.plan().parameter_count()),
          static_cast<double>(state_.skipped)};
}

// Training waits for the one before to be on disk, and for one copy of the state.
void Trainer::save(bool is_best) {
  const util::Stopwatch watch;
  replica_.pulse().enter(comm::Phase::checkpoint);
  RunState stored = state_;
  stored.times = mean_over_ranks(state_.times);
  wait_for_keeper();
  comm::agree(world_, [&] {
    if (keeper_ == nullptr) return;
    // Of a state that can only end the same way again there is no checkpoint, and the good ones stay.
    if (const std::optional<std::string> name = snapshot_->capture(replica_))
      throw DivergedError(fmt::format("after step {}: {} is not finite", state_.step, *name), kDivergedHint);
    std::map<std::string, io::ProgressValue> progress;
    store(stored, options_.identity, progress);
    keeper_->save(
        [snapshot = snapshot_, config = options_.config_text, progress = std::move(progress),
         metrics = table_] {
          io::CheckpointView view = snapshot->view();
          view.config = config;
          view.progress = progress;
          view.metrics = metrics;
          return view;
        },
        state_.step, is_best);
  });
  const double seconds = watch.seconds();
  state_.checkpoint_seconds += seconds;
  totals_.checkpoint_seconds += seconds;
}

void Trainer::wait_for_keeper() {
  replica_.pulse().enter(comm::Phase::checkpoint);
  const std::string place = comm::describe(replica_.pulse().place());
  std::exception_ptr error;
  try {
    if (keeper_ != nullptr) keeper_->wait();
  } catch (...) {
    error = std::current_exception();
  }
  replica_.pulse().enter(comm::Phase::exchange);
  comm::throw_together(world_, error, place);
}

std::optional<Sums> Trainer::final_test() {
  if (!data_.test) return std::nullopt;
  if (state_.best_step != 0 && state_.best_step != state_.step) {
    wait_for_keeper();
    replica_.pulse().enter(comm::Phase::checkpoint);
    comm::agree(world_, [&] {
      if (keeper_ == nullptr) return;
      const io::Checkpoint best = keeper_->load_best(state_.best_step);
      try {
        replica_.restore(best, Replica::Restore::weights_only);
      } catch (const CheckpointError& error) {
        throw CheckpointError(
            fmt::format("the best checkpoint, of step {}, does not fit: {}", state_.best_step, error.what()),
            error.hint());
      }
    });
    replica_.broadcast();
  }
  const Evaluation test =
      evaluate(replica_.network(), *data_.test, config_, world_, options_.poll, replica_.pulse());
  stop_ = test.stop;
  if (stop_.any()) return std::nullopt;
  require_finite_loss(test.sums, "test");
  return test.sums;
}

StepTimes Trainer::mean_over_ranks(const StepTimes& times) const {
  std::array<double, 5> values = {times.data, times.forward, times.backward, times.exchange, times.update};
  world_.all_reduce(values, comm::Op::sum);
  for (double& value : values)
    value /= world_.size();
  return {values[0], values[1], values[2], values[3], values[4]};
}

}  // namespace kolo::train
