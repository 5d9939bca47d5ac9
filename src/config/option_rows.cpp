#include "option_rows.hpp"

#include "kolo/config/option_binder.hpp"

namespace kolo::config {
namespace {

// Upper ends keep products and byte counts far from overflow; no real run comes near them.
constexpr std::int64_t kMaxEpochs = 1'000'000;
constexpr std::int64_t kMaxSteps = 1'000'000'000'000;
constexpr std::int64_t kMaxSamples = 1'000'000'000;
constexpr std::int64_t kMaxPasses = 1'000;
constexpr std::int64_t kMaxPerRank = 1'000'000;
constexpr std::int64_t kMaxClasses = 1'000'000;
constexpr RealRange kMebibytes{.low = 0, .low_end = End::open, .high = 65536};
constexpr RealRange kSeconds{.low = 0, .high = 86400};
constexpr RealRange kInterval{.low = 0, .low_end = End::open, .high = 86400};

void add_run(OptionBinder bind, RunSection& run) {
  bind("seed", run.seed, {}, "seed of weights, data order and augmentation");
  bind("dtype", run.dtype, "element type of weights, activations and gradients");
  bind("device", run.device, "where the model runs; auto: the best there is");
  bind("threads", run.threads, {0, 4096},
       "threads per rank; 0: the rank's share of the node's allowed cores");
  bind("progress", run.progress, "how progress is shown; auto: a bar on a terminal, else plain lines");
  bind("progress_seconds", run.progress_seconds, kInterval, "seconds between plain progress lines");
}

void add_data(OptionBinder bind, DataSection& data) {
  bind("format", data.format, "format of the data set; synthetic: random images made from the seed");
  bind("path", data.path, Emptiness::allowed,
       "training set: a file or a folder, by format; a relative path starts at the current directory");
  bind("test_path", data.test_path, Emptiness::allowed,
       "test set, where the format does not find it beside the training set");
  bind("val_fraction", data.val_fraction, kFraction, "part of the training set split off for validation");
  bind("mean", data.mean, kAnyNumber,
       "subtracted from pixels scaled to 0..1: one per channel, or one for all; nothing: 0");
  bind("std", data.std, kPositive,
       "divides pixels after the mean is subtracted: one per channel, or one for all; nothing: 1");
  bind("crop_padding", data.crop_padding, {0, 1024}, "pixels of padding before a random crop; 0: no crop");
  bind("flip", data.flip, "mirror training images left to right at random");
  bind("shuffle", data.shuffle, "a new order each epoch; false: the order of the files");
  bind("prefetch", data.prefetch, {1, 1024}, "batches made ahead of the training step");
  bind("samples", data.samples, {1, kMaxSamples}, "synthetic only: training samples");
  bind("test_samples", data.test_samples, {0, kMaxSamples}, "synthetic only: test samples");
  bind("channels", data.channels, {1, 4096}, "synthetic only: channels of an image");
  bind("height", data.height, {1, 65536}, "synthetic only: height of an image in pixels");
  bind("width", data.width, {1, 65536}, "synthetic only: width of an image in pixels");
  bind("classes", data.classes, {2, kMaxClasses}, "synthetic only: number of classes");
}

void add_model(OptionBinder bind, ModelSection& model) {
  bind("name", model.name, Emptiness::refused, "name of the network");
  bind("stem", model.stem, "residual networks: first layers for large (imagenet) or 32x32 images (cifar)");
  bind("batch_norm", model.batch_norm, "whose batch normalises; local: the rank's own");
  bind("memory_format", model.memory_format,
       "how images and convolution weights lie in memory; auto: channels_last for models with convolutions");
  bind("hidden", model.hidden, {1, 1'000'000}, "mlp: widths of the hidden layers");
  bind("dropout", model.dropout, kFraction, "mlp and cnn: probability of a drop before the last layer");
}

void add_train(OptionBinder bind, TrainSection& train) {
  bind("epochs", train.epochs, {1, kMaxEpochs}, "passes over the training set");
  bind("max_steps", train.max_steps, {0, kMaxSteps}, "updates after which the run ends; 0: no limit");
  bind(
      "global_batch", train.global_batch, {0, kMaxSamples},
      "samples an update over all ranks; 0: batch_per_rank x world size x accumulate, or 128 without either");
  bind("batch_per_rank", train.batch_per_rank, {0, kMaxPerRank},
       "samples a rank takes in one forward pass, at most; 0: from global_batch");
  bind("accumulate", train.accumulate, {1, kMaxPasses},
       "forward passes an update; 1 with both batch sizes given: as many as are needed");
  bind("eval_batch", train.eval_batch, {1, kMaxPerRank}, "samples a rank takes in one pass of evaluation");
  bind("label_smoothing", train.label_smoothing, kFraction,
       "weight of the uniform distribution in the target");
  bind("clip_norm", train.clip_norm, kNotNegative, "largest norm of the whole gradient; 0: no clipping");
  bind("on_nonfinite", train.on_nonfinite,
       "a non-finite loss or gradient ends the run (stop) or drops the step (skip)");
  bind("early_stop_patience", train.early_stop_patience, {0, kMaxEpochs},
       "epochs without a better val_top1 after which the run ends; 0: never");
  bind("early_stop_min_delta", train.early_stop_min_delta, kFraction,
       "gain of val_top1 that counts as better");
}

void add_optimizer(OptionBinder bind, OptimizerSection& optimizer) {
  bind("name", optimizer.name, "update rule");
  bind("lr", optimizer.lr, kPositive, "learning rate");
  bind("momentum", optimizer.momentum, kFraction, "sgd: decay of the momentum buffer; 0: none");
  bind("nesterov", optimizer.nesterov, "sgd: Nesterov's momentum");
  bind("weight_decay", optimizer.weight_decay, kNotNegative,
       "factor of the weights added to the gradient; adamw: decoupled from it");
  bind("beta1", optimizer.beta1, kFraction, "adam and adamw: decay of the first moment");
  bind("beta2", optimizer.beta2, kFraction, "adam and adamw: decay of the second moment");
  bind("eps", optimizer.eps, kPositive, "adam and adamw: added to the denominator");
  bind("no_decay", optimizer.no_decay, "parameters without weight decay");
  bind("scale_lr", optimizer.scale_lr,
       "multiply lr by global batch / reference_batch (linear) or by its square root (sqrt)");
  bind("reference_batch", optimizer.reference_batch, {0, kMaxSamples},
       "global batch that lr was chosen for; needed by scale_lr");
}

void add_schedule(OptionBinder bind, ScheduleSection& schedule) {
  bind("name", schedule.name, "how the learning rate changes after warm-up");
  bind("warmup_epochs", schedule.warmup_epochs, kNotNegative,
       "epochs of linear rise to lr; may be a fraction");
  bind("milestones", schedule.milestones, kPositive, "multistep: epochs at which gamma applies, increasing");
  bind("gamma", schedule.gamma, kPositive, "step and multistep: factor of the learning rate");
  bind("step_epochs", schedule.step_epochs, {1, kMaxEpochs}, "step: epochs between two factors");
  bind("min_lr", schedule.min_lr, kNotNegative, "cosine: the learning rate at the end");
}

void add_comm(OptionBinder bind, CommSection& comm) {
  bind("strategy", comm.strategy,
       "how gradients are exchanged; shared: one copy of the weights a node, auto: shared where it can");
  bind(
      "bind", comm.bind,
      "cores of the ranks; auto: divide the node's unless the launcher did, keep: the launcher's, none: all");
  bind("bucket_mib", comm.bucket_mib, kMebibytes, "size of a gradient bucket in MiB");
  bind("first_bucket_mib", comm.first_bucket_mib, kMebibytes,
       "size of the first bucket to be exchanged in MiB");
  bind("timeout", comm.timeout, kSeconds,
       "seconds without progress after which the rank that hangs is named; after twice that the run ends; 0: "
       "off");
}

void add_memory(OptionBinder bind, MemorySection& memory) {
  bind("malloc", memory.malloc,
       "freed blocks; recycle: stay with the process for the next step, system: as the C library has it");
  bind("huge_pages", memory.huge_pages,
       "pages of 2 MiB for large tensors and the arena; auto: where the system lets a program ask for them");
  bind("pretouch", memory.pretouch,
       "map the arena's pages before the first step, each by the rank that will use it");
}

void add_checkpoint(OptionBinder bind, CheckpointSection& checkpoint) {
  bind("every_epochs", checkpoint.every_epochs, {0, kMaxEpochs},
       "epochs between checkpoints; 0: only at the end and on a stop");
  bind("every_steps", checkpoint.every_steps, {0, kMaxSteps}, "updates between further checkpoints; 0: off");
  bind("keep", checkpoint.keep, {1, kMaxEpochs}, "newest checkpoints kept, and what they call the best");
  bind("job_end_margin", checkpoint.job_end_margin, kSeconds,
       "seconds before a Slurm job's time limit at which the run stops; more where checkpoints take long");
}

}  // namespace

std::vector<Option> option_rows(Config& config) {
  std::vector<Option> rows;
  add_run({"run", rows}, config.run);
  add_data({"data", rows}, config.data);
  add_model({"model", rows}, config.model);
  add_train({"train", rows}, config.train);
  add_optimizer({"optimizer", rows}, config.optimizer);
  add_schedule({"schedule", rows}, config.schedule);
  add_comm({"comm", rows}, config.comm);
  add_memory({"memory", rows}, config.memory);
  add_checkpoint({"checkpoint", rows}, config.checkpoint);
  return rows;
}

}  // namespace kolo::config
