// One update: forward and backward over this rank's micro-batches, exchange, decision, update.
//
// The loss is divided by the step's global sample count before backward and gradients are summed, so ragged
// tails and accumulation are exact and no rank's share matters.  A rank that fails, or has no samples, still
// makes every collective call of the step (with zeros), says so in the control message, and all ranks leave
// together with its error.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/batch.hpp"
#include "kolo/train/control.hpp"
#include "kolo/train/replica.hpp"

namespace kolo::train {

/// Seconds of this rank.
struct StepTimes {
  double data = 0;  ///< waiting for the loader
  double forward = 0;
  double backward = 0;  ///< without the exchange inside it
  double exchange = 0;  ///< the copies of gradients into the arena included
  double update = 0;
  StepTimes& operator+=(const StepTimes& other);
};

/// Gives the batches of a rank's forward passes, in order.
using BatchSource = std::function<std::shared_ptr<data::Batch>()>;

struct StepRequest {
  std::int64_t step = 0;            ///< 0-based, for messages
  std::size_t micro_batches = 0;    ///< this rank's; taken from the source
  std::int64_t global_samples = 0;  ///< over all ranks
  double lr = 0;
  std::int64_t update = 1;        ///< number of this update, from 1, skipped ones not counted
  std::uint64_t random_seed = 0;  ///< of libtorch's generator (dropout)
  StopFlags stop;
};

struct StepResult {
  Sums sums;             ///< over all ranks
  bool applied = false;  ///< false: skipped because of a non-finite gradient
  StopFlags stop;        ///< over all ranks
  StepTimes times;
};

class TrainStep {
 public:
  /// `replica` must outlive the step.
  TrainStep(Replica& replica, const config::TrainSection& section, const comm::Communicator& world);

  /// Collective.  Throws AgreedError for whatever failed on some rank, and DivergedError (agreed) for
  /// non-finite gradients with train.on_nonfinite = stop.
  StepResult run(const BatchSource& source, const StepRequest& request);

 private:
  Sums compute(const BatchSource& source, const StepRequest& request, StepTimes& times);
  void finish(const StepRequest& request);
  void apply_moments();
  void throw_if_diverged(const StepRequest& request);

  Replica& replica_;
  const config::TrainSection section_;
  const comm::Communicator& world_;
  ControlMessage control_;
  bool loss_finite_ = true;
  bool norm_finite_ = true;
  bool applied_ = false;
};

/// The images of a batch as a tensor that views the batch's memory, and its labels.
struct BatchTensors {
  at::Tensor images;  ///< N, C, H, W; in another memory format than the batch's it is a copy
  at::Tensor labels;  ///< N, int64
};
BatchTensors to_tensors(data::Batch& batch, at::MemoryFormat format);

}  // namespace kolo::train
