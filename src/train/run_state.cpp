#include "kolo/train/run_state.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

#include "kolo/util/error.hpp"

namespace kolo::train {
namespace {

using ProgressMap = std::map<std::string, io::ProgressValue>;

// One list of keys and members serves both directions.
template <class State, class Visit>
void visit_state(State& state, Visit&& visit) {
  visit("epoch", state.epoch);
  visit("step", state.step);
  visit("step_in_epoch", state.step_in_epoch);
  visit("updates", state.updates);
  visit("partial_loss_sum", state.sums.loss);
  visit("partial_top1", state.sums.top1);
  visit("partial_top5", state.sums.top5);
  visit("partial_samples", state.sums.samples);
  visit("partial_data_s", state.times.data);
  visit("partial_forward_s", state.times.forward);
  visit("partial_backward_s", state.times.backward);
  visit("partial_exchange_s", state.times.exchange);
  visit("partial_update_s", state.times.update);
  visit("partial_train_s", state.train_seconds);
  visit("partial_checkpoint_s", state.checkpoint_seconds);
  visit("partial_skipped", state.skipped);
  visit("best_epoch", state.best_epoch);
  visit("best_step", state.best_step);
  visit("best_val_top1", state.best_val_top1);
  visit("patience_reference", state.patience_reference);
  visit("epochs_without_gain", state.epochs_without_gain);
}

template <class Identity, class Visit>
void visit_identity(Identity& identity, Visit&& visit) {
  visit("global_batch", identity.global_batch);
  visit("accumulate", identity.accumulate);
  visit("batch_per_rank", identity.batch_per_rank);
  visit("world_size", identity.world_size);
  visit("threads", identity.threads);
  visit("samples", identity.samples);
  visit("total_steps", identity.total_steps);
  visit("data_digest", identity.data_digest);
  visit("strategy", identity.strategy);
  visit("cpu", identity.cpu);
  visit("build", identity.build);
}

template <class Identity, class Visit>
void visit_later_identity(Identity& identity, Visit&& visit) {
  visit("eval_batch", identity.eval_batch);
  visit("layout", identity.layout);
  visit("mpi", identity.mpi);
}

auto reader(const ProgressMap& progress) {
  return [&progress](const char* key, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    const auto found = progress.find(key);
    if (found == progress.end())
      throw CheckpointError(fmt::format("the checkpoint has no /progress/{}", key));
    const auto* value = std::get_if<Member>(&found->second);
    if (value == nullptr)
      throw CheckpointError(fmt::format("/progress/{} of the checkpoint has the wrong type", key));
    member = *value;
  };
}

auto writer(ProgressMap& progress) {
  return [&progress](const char* key, const auto& member) { progress[key] = member; };
}

}  // namespace

void store(const RunState& state, const RunIdentity& identity, ProgressMap& progress) {
  visit_state(state, writer(progress));
  visit_identity(identity, writer(progress));
  visit_later_identity(identity, writer(progress));
  progress["sample_offset"] = std::min(state.step_in_epoch * identity.global_batch, identity.samples);
}

RunState load_state(const ProgressMap& progress) {
  RunState state;
  visit_state(state, reader(progress));
  return state;
}

RunIdentity load_identity(const ProgressMap& progress) {
  RunIdentity identity;
  visit_identity(identity, reader(progress));
  visit_later_identity(identity, [&progress, read = reader(progress)](const char* key, auto& member) {
    if (progress.contains(key)) read(key, member);
  });
  return identity;
}

}  // namespace kolo::train
