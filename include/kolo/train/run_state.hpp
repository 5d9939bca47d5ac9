// Where a run stands: everything but tensors that a checkpoint must hold to go on as if nothing had happened.
//
// Positions are derived from (epoch, step_in_epoch) alone; learning rate, order and augmentation are
// functions of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kolo/io/checkpoint.hpp"
#include "kolo/train/step.hpp"

namespace kolo::train {

/// Plain data, so that rank 0's can be sent as bytes.
struct RunState {
  std::int64_t epoch = 0;          ///< epochs completed
  std::int64_t step = 0;           ///< steps completed in the run
  std::int64_t step_in_epoch = 0;  ///< steps completed in the present epoch
  std::int64_t updates = 0;        ///< steps that changed the weights

  // The present epoch so far.
  Sums sums;        ///< over all ranks
  StepTimes times;  ///< mean over ranks in a checkpoint, this rank's while running
  double train_seconds = 0;
  double checkpoint_seconds = 0;  ///< since the last metrics row
  std::int64_t skipped = 0;       ///< steps without update

  std::int64_t best_epoch = 0;  ///< 0: none yet
  std::int64_t best_step = 0;
  double best_val_top1 = -1;
  double patience_reference = -1;  ///< val_top1 that early stopping wants to see exceeded
  std::int64_t epochs_without_gain = 0;
};

/// What the numbers depend on besides the state; stored beside it and compared on resume.
struct RunIdentity {
  std::int64_t global_batch = 0;
  std::int64_t accumulate = 0;
  std::int64_t batch_per_rank = 0;
  std::int64_t world_size = 0;
  std::int64_t threads = 0;
  std::int64_t samples = 0;      ///< of the training set
  std::int64_t total_steps = 0;  ///< of the whole training: what a cosine schedule stretches over
  std::string data_digest;
  std::string strategy;
  std::string cpu;
  std::string build;
  // Absent in checkpoints of the first versions.
  std::int64_t eval_batch = 0;       ///< validation losses are sums over its batches
  std::string layout = "not known";  ///< ranks of each node, in the order of the ranks
  std::string mpi = "not known";
};

void store(const RunState& state, const RunIdentity& identity,
           std::map<std::string, io::ProgressValue>& progress);
/// Throws CheckpointError for a missing key or one of another type.
RunState load_state(const std::map<std::string, io::ProgressValue>& progress);
RunIdentity load_identity(const std::map<std::string, io::ProgressValue>& progress);

}  // namespace kolo::train
