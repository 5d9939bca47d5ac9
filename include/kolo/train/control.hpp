// The one small fp64 message of each step: what every rank must know before it touches the weights.
//
// Layout: fixed slots for sums and flags, then the moments of the batch-norm layers.  Everything is added
// over ranks, flags too: a flag is set when its sum is above zero.
#pragma once

#include <span>
#include <vector>

#include "kolo/train/stop.hpp"
#include "kolo/train/sums.hpp"

namespace kolo::train {

class ControlMessage {
 public:
  explicit ControlMessage(std::size_t moments) : values_(kFirstMoment + moments) {}

  void clear();
  void set_sums(const Sums& sums);
  void set_nonfinite() { values_[kNonfinite] = 1; }
  void set_failed() { values_[kFailed] = 1; }
  void set_stop(const StopFlags& flags);

  Sums sums() const;
  bool nonfinite() const { return values_[kNonfinite] > 0; }
  bool failed() const { return values_[kFailed] > 0; }
  StopFlags stop() const;

  std::span<double> moments() { return std::span(values_).subspan(kFirstMoment); }
  std::span<double> values() { return values_; }

 private:
  enum Slot : std::size_t { kLoss, kTop1, kTop5, kSamples, kNonfinite, kFailed, kFirstStop };
  static constexpr std::size_t kFirstMoment = kFirstStop + kStopCauses;
  std::vector<double> values_;
};

}  // namespace kolo::train
