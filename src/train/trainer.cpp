#include "kolo/train/trainer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kolo/comm/agree.hpp"
#include "kolo/data/philox.hpp"
#include "kolo/train/loader_options.hpp"
#include "kolo/util/time.hpp"

namespace kolo::train {
namespace {

// libtorch's generator is seeded anew every step, so that dropout needs no stored state and a resumed run
// repeats it.
std::uint64_t step_seed(std::int64_t seed, std::int64_t step, int rank) {
  const data::PhiloxBlock block =
      data::draw(static_cast<std::uint64_t>(seed), data::Stream::dropout, static_cast<std::uint64_t>(step),
                 static_cast<std::uint64_t>(rank));
  return std::uint64_t{block[0]} << 32 | block[1];
}

}  // namespace

std::int64_t total_steps(const config::TrainSection& section, std::int64_t steps_per_epoch) {
  const std::int64_t all = section.epochs * steps_per_epoch;
  return section.max_steps > 0 ? std::min(section.max_steps, all) : all;
}

Trainer::Trainer(const config::Config& config, Replica& replica, const data::DataSets& data,
                 const Geometry& geometry, const comm::Communicator& world, TrainerOptions options,
                 Observer* observer, Keeper* keeper)
    : config_(config),
      replica_(replica),
      data_(data),
      geometry_(geometry),
      world_(world),
      options_(std::move(options)),
      observer_(observer),
      keeper_(keeper),
      schedule_(config.schedule, optim::scaled_lr(config.optimizer, geometry.global_batch()),
                geometry.steps_per_epoch(), total_steps(config.train, geometry.steps_per_epoch())),
      step_(replica, config.train, world) {
  table_.columns = metric_columns();
}

void Trainer::resume(const io::Checkpoint* checkpoint) {
  comm::agree(world_, [&] {
    if (checkpoint == nullptr) return;
    replica_.restore(*checkpoint, Replica::Restore::everything);
    state_ = load_state(checkpoint->progress);
    table_ = checkpoint->metrics;
  });
  replica_.broadcast();
  world_.broadcast(std::as_writable_bytes(std::span(&state_, 1)), 0);
}

Outcome Trainer::run() {
  // Maps the memory that the first checkpoint would otherwise make training wait for.
  if (keeper_ != nullptr && config_.memory.pretouch) snapshot_->capture(replica_);
  if (stop_before_start()) return finish_stopped();
  if (options_.save_at_start) save(false);
  replica_.network().train();
  const auto loader = comm::agree(world_, [&] {
    return std::make_unique<data::Loader>(data_.train, training_options(config_), requests());
  });
  while (state_.epoch < config_.train.epochs) {
    if (patience_exhausted()) return finish(EndReason::early_stop, "");
    if (out_of_steps() && state_.step_in_epoch == 0) return finish(EndReason::max_steps, "");
    const EpochEnd end = train_epoch(*loader);
    if (end == EpochEnd::max_steps) return finish_cut_epoch();
    if (end == EpochEnd::stopped || !finish_epoch()) return finish_stopped();
    if (options_.stop_after_epochs && totals_.epochs_here >= *options_.stop_after_epochs &&
        state_.epoch < config_.train.epochs) {
      return finish(EndReason::stopped, "--stop-after-epochs");
    }
  }
  if (patience_exhausted()) return finish(EndReason::early_stop, "");
  return finish(EndReason::completed, "");
}

// What was asked for while data were read, before there was a step whose message could say so.
bool Trainer::stop_before_start() {
  std::array<double, kStopCauses> message{};
  write_flags(options_.poll(), message);
  world_.all_reduce(message, comm::Op::max);
  stop_ = read_flags(message);
  return stop_.any();
}

// A stop asked for during the evaluation finds the epoch's steps done: the resumed run begins with the
// evaluation.
Outcome Trainer::finish_stopped() {
  save(false);
  return finish(EndReason::stopped, std::string(describe(*first_cause(stop_))));
}

StepRequest Trainer::make_request() const {
  StepRequest request;
  request.step = state_.step;
  request.micro_batches = geometry_.micro_batches(state_.step_in_epoch).size();
  request.global_samples = geometry_.step(state_.step_in_epoch).size();
  request.lr = learning_rate(state_.step);
  request.update = state_.updates + 1;
  request.random_seed = step_seed(config_.run.seed, state_.step, world_.rank());
  request.stop = options_.poll();
  return request;
}

void Trainer::note_step(const StepResult& result, double seconds) {
  samples_here_ += static_cast<double>(geometry_.step(state_.step_in_epoch).size());
  ++state_.step;
  ++state_.step_in_epoch;
  if (result.applied) {
    ++state_.updates;
    state_.sums += result.sums;
  } else {
    ++state_.skipped;
  }
  state_.times += result.times;
  totals_.times += result.times;
  state_.train_seconds += seconds;
  train_seconds_here_ += seconds;
}

Trainer::EpochEnd Trainer::train_epoch(data::Loader& loader) {
  const auto next_batch = [&] {
    check_keeper();
    return loader.next();
  };
  while (state_.step_in_epoch < geometry_.steps_per_epoch()) {
    if (out_of_steps()) return EpochEnd::max_steps;
    const util::Stopwatch watch;
    const StepRequest request = make_request();
    const StepResult result = step_.run(next_batch, request);
    note_step(result, watch.seconds());
    if (observer_ != nullptr) observer_->step_done(state_, request.lr);
    if (result.stop.any()) {
      stop_ = result.stop;
      return EpochEnd::stopped;
    }
    // The epoch's last step is followed by the checkpoint of the epoch.
    if (due_by_steps() && state_.step_in_epoch < geometry_.steps_per_epoch()) save(false);
  }
  return EpochEnd::complete;
}

// A checkpoint that could not be written ends the run at the next step, not at the next checkpoint.
void Trainer::check_keeper() const {
  if (keeper_ == nullptr) return;
  try {
    keeper_->check();
  } catch (...) {
    replica_.pulse().enter(comm::Phase::checkpoint);
    throw;
  }
}

Outcome Trainer::finish_cut_epoch() {
  // The checkpoint knows nothing of this evaluation: a run resumed with a larger train.max_steps goes on
  // inside the epoch as if it had not been cut.
  save(false);
  const std::optional<EpochResult> result = evaluate_epoch();
  if (!result) return finish(EndReason::stopped, std::string(describe(*first_cause(stop_))));
  publish(*result);
  if (!data_.val) take_latest_as_best(state_.epoch + 1);
  if (keeper_ != nullptr && (result->is_best || !data_.val)) keeper_->mark_best(state_.step);
  return finish(EndReason::max_steps, "");
}

bool Trainer::finish_epoch() {
  const std::optional<EpochResult> result = evaluate_epoch();
  if (!result) return false;
  ++state_.epoch;
  ++totals_.epochs_here;
  if (world_.rank() == 0) table_.rows.push_back(result->row);
  state_.step_in_epoch = 0;
  state_.sums = {};
  state_.times = {};
  state_.train_seconds = 0;
  state_.checkpoint_seconds = 0;
  state_.skipped = 0;
  publish(*result);

  const std::int64_t every = config_.checkpoint.every_epochs;
  const bool last = state_.epoch == config_.train.epochs || out_of_steps() || patience_exhausted() ||
                    (options_.stop_after_epochs && totals_.epochs_here >= *options_.stop_after_epochs);
  const bool due = last || due_by_steps() || (every > 0 && state_.epoch % every == 0);
  // Without a validation set there is nothing to choose by: the latest that is kept is the one to test.
  const bool is_best = data_.val ? result->is_best : due;
  if (!data_.val && due) take_latest_as_best(state_.epoch);
  if (due || is_best) save(is_best);
  return true;
}

void Trainer::take_latest_as_best(std::int64_t epoch) {
  state_.best_epoch = epoch;
  state_.best_step = state_.step;
}

bool Trainer::due_by_steps() const {
  return config_.checkpoint.every_steps > 0 && state_.step % config_.checkpoint.every_steps == 0;
}

bool Trainer::patience_exhausted() const {
  return config_.train.early_stop_patience > 0 &&
         state_.epochs_without_gain >= config_.train.early_stop_patience;
}

bool Trainer::out_of_steps() const {
  return config_.train.max_steps > 0 && state_.step >= config_.train.max_steps;
}

Outcome Trainer::finish(EndReason reason, std::string detail) {
  totals_.reason = reason;
  totals_.detail = std::move(detail);
  totals_.samples_per_s = train_seconds_here_ > 0 ? samples_here_ / train_seconds_here_ : 0;
  totals_.times = mean_over_ranks(totals_.times);
  if (reason != EndReason::stopped) {
    const util::Stopwatch watch;
    totals_.test = final_test();
    totals_.eval_seconds += watch.seconds();
    if (stop_.any()) {
      totals_.reason = EndReason::stopped;
      totals_.detail = std::string(describe(*first_cause(stop_))) + " during the final test";
    }
  }
  wait_for_keeper();
  totals_.state = state_;
  return totals_;
}

std::function<std::optional<data::BatchRequest>()> Trainer::requests() const {
  // Runs on the loader's thread, with positions of its own.
  struct Position {
    std::int64_t epoch;
    std::int64_t step;
    std::size_t micro = 0;
    std::vector<data::Range> pieces = {};
  };
  Position at{state_.epoch, state_.step_in_epoch};
  return [at, &geometry = geometry_,
          epochs = config_.train.epochs]() mutable -> std::optional<data::BatchRequest> {
    while (at.micro == at.pieces.size()) {
      if (at.step == geometry.steps_per_epoch()) {
        at.step = 0;
        ++at.epoch;
      }
      if (at.epoch >= epochs) return std::nullopt;
      at.pieces = geometry.micro_batches(at.step++);
      at.micro = 0;
    }
    const data::Range piece = at.pieces[at.micro++];
    return data::BatchRequest{at.epoch, piece.begin, piece.end};
  };
}

}  // namespace kolo::train
