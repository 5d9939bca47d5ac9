// A run's settings as typed structs: one struct per deck section, one member per key.
//
// The defaults here are the defaults: the option table (option_table.hpp) binds each key to its member and
// adds the help text and the accepted range.  A Config that left `load_config` satisfies every range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kolo::config {

enum class Dtype { fp32, fp64 };
enum class Device { automatic, cpu };
enum class Progress { automatic, bar, plain, none };
enum class DataFormat { synthetic, idx, cifar10, cifar100, hdf5 };
enum class Stem { imagenet, cifar };
enum class BatchNorm { local };
enum class MemoryFormat { automatic, contiguous, channels_last };
enum class OnNonfinite { stop, skip };
enum class OptimizerName { sgd, adam, adamw };
enum class NoDecay { none, bias_and_norm };
enum class ScaleLr { none, linear, sqrt };
enum class ScheduleName { constant, step, multistep, cosine };
enum class Strategy { automatic, shared, allreduce };
enum class Bind { automatic, keep, none };
enum class Resume { off, automatic, required };
enum class Malloc { recycle, system };
enum class HugePages { automatic, off };
enum class Launcher { mpirun, srun };

struct RunSection {
  std::int64_t seed = 1;
  Dtype dtype = Dtype::fp32;
  Device device = Device::automatic;
  std::int64_t threads = 0;  ///< per rank; 0: the rank's share of the node's allowed cores
  Progress progress = Progress::automatic;
  double progress_seconds = 5;  ///< between plain progress lines

  bool operator==(const RunSection&) const = default;
};

struct DataSection {
  DataFormat format = DataFormat::synthetic;
  std::string path;       ///< training set: a folder or a file, by format
  std::string test_path;  ///< test set where the format does not find it beside the training set
  double val_fraction = 0;
  std::vector<double> mean;  ///< per channel (or one for all), of pixel values scaled to 0..1; empty: 0
  std::vector<double> std;   ///< likewise; empty: 1
  std::int64_t crop_padding = 0;
  bool flip = false;
  bool shuffle = true;
  std::int64_t prefetch = 4;      ///< batches made ahead
  std::int64_t samples = 10'000;  ///< synthetic only, like all below
  std::int64_t test_samples = 1'000;
  std::int64_t channels = 3;
  std::int64_t height = 32;
  std::int64_t width = 32;
  std::int64_t classes = 10;

  bool operator==(const DataSection&) const = default;
};

struct ModelSection {
  std::string name = "cnn";
  Stem stem = Stem::imagenet;
  BatchNorm batch_norm = BatchNorm::local;
  MemoryFormat memory_format =
      MemoryFormat::automatic;                    ///< of images and convolution weights; not of checkpoints
  std::vector<std::int64_t> hidden = {512, 256};  ///< mlp: widths of the hidden layers
  double dropout = 0;                             ///< mlp and cnn: before the last layer

  bool operator==(const ModelSection&) const = default;
};

struct TrainSection {
  std::int64_t epochs = 10;
  std::int64_t max_steps = 0;       ///< 0: no limit
  std::int64_t global_batch = 0;    ///< samples an update; 0: batch_per_rank x world size x accumulate
  std::int64_t batch_per_rank = 0;  ///< samples a forward pass; 0: from global_batch
  std::int64_t accumulate = 1;      ///< forward passes an update
  std::int64_t eval_batch = 250;
  double label_smoothing = 0;
  double clip_norm = 0;  ///< 0: off
  OnNonfinite on_nonfinite = OnNonfinite::stop;
  std::int64_t early_stop_patience = 0;  ///< epochs without a better val_top1; 0: off
  double early_stop_min_delta = 0;

  bool operator==(const TrainSection&) const = default;
};

struct OptimizerSection {
  OptimizerName name = OptimizerName::sgd;
  double lr = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  NoDecay no_decay = NoDecay::none;
  ScaleLr scale_lr = ScaleLr::none;
  std::int64_t reference_batch = 0;

  bool operator==(const OptimizerSection&) const = default;
};

struct ScheduleSection {
  ScheduleName name = ScheduleName::constant;
  double warmup_epochs = 0;
  std::vector<double> milestones;  ///< epochs
  double gamma = 0.1;
  std::int64_t step_epochs = 30;
  double min_lr = 0;  ///< cosine: where it ends

  bool operator==(const ScheduleSection&) const = default;
};

struct CommSection {
  Strategy strategy = Strategy::automatic;
  Bind bind = Bind::automatic;
  double bucket_mib = 25;
  double first_bucket_mib = 1;
  double timeout = 300;  ///< seconds without progress after which the watchdog speaks; 0: off

  bool operator==(const CommSection&) const = default;
};

struct MemorySection {
  Malloc malloc = Malloc::recycle;
  HugePages huge_pages = HugePages::automatic;
  bool pretouch = true;

  bool operator==(const MemorySection&) const = default;
};

struct CheckpointSection {
  std::int64_t every_epochs = 1;  ///< 0: only at the end and on a stop
  std::int64_t every_steps = 0;   ///< 0: off
  std::int64_t keep = 2;          ///< newest ones kept, and what they call the best
  double job_end_margin = 60;     ///< seconds before the Slurm job's end at which the run stops

  bool operator==(const CheckpointSection&) const = default;
};

struct Config {
  RunSection run;
  DataSection data;
  ModelSection model;
  TrainSection train;
  OptimizerSection optimizer;
  ScheduleSection schedule;
  CommSection comm;
  MemorySection memory;
  CheckpointSection checkpoint;

  bool operator==(const Config&) const = default;
};

}  // namespace kolo::config
