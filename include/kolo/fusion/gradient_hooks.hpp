// Moves each gradient from autograd into this rank's part of the arena the moment backward has produced it.
//
// A hook in front of every parameter's AccumulateGrad node takes the gradient before `.grad` would: it is
// copied once, flat and in the arena's layout, looked through for non-finite values on the way, and dropped.
// When all parameters of the next bucket in plan order have arrived, the bucket is handed to the exchange,
// from inside backward.  Hooks act only while armed: earlier micro-batches of a step accumulate in `.grad` as
// usual, and the last one is added to what they left there.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kolo/fusion/arena.hpp"

namespace torch::autograd {
struct Node;
}

namespace kolo::fusion {

class GradientHooks {
 public:
  using BucketReady = std::function<void(const Bucket&)>;

  /// `gradients`: plan.size elements of this rank.  `limit`: magnitude above which a gradient counts as
  /// non-finite. `arena` and `gradients` must outlive the hooks.  `ready` runs on the thread that calls
  /// backward.
  GradientHooks(const Arena& arena, std::byte* gradients, double limit, BucketReady ready);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  /// Before anything else of a step.
  void begin_step();
  /// Before the backward pass of the step's last micro-batch.
  void arm() { armed_ = true; }
  /// After it.  Throws Error(internal) naming a parameter that got no gradient, or got it more than once.
  void require_complete();
  /// This rank has no samples in the step, or failed: hands over all buckets not yet handed over, as zeros.
  void contribute_zeros();

  /// Time spent in the hooks since they were made, what `ready` took included.
  double seconds() const { return seconds_; }
  /// False when a gradient of this step was non-finite or above the limit.
  bool finite() const { return first_bad_slot_ == kNone; }
  /// The first such parameter in order of arrival; empty when finite().
  std::string first_nonfinite() const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Hook;

  bool on_gradient(std::size_t slot, const at::Tensor& gradient);
  bool store(std::size_t slot, const at::Tensor& gradient);
  void hand_over_ready_buckets();

  const Arena& arena_;
  std::byte* gradients_;
  double limit_;
  BucketReady ready_;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;  // parameters hold theirs only weakly
  std::vector<int> arrivals_;
  std::size_t next_bucket_ = 0;
  std::size_t first_bad_slot_ = kNone;
  double seconds_ = 0;
  bool armed_ = false;
};

}  // namespace kolo::fusion
