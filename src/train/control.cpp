#include "kolo/train/control.hpp"

#include <algorithm>

namespace kolo::train {

void ControlMessage::clear() { std::fill(values_.begin(), values_.end(), 0.0); }

void ControlMessage::set_sums(const Sums& sums) {
  values_[kLoss] = sums.loss;
  values_[kTop1] = sums.top1;
  values_[kTop5] = sums.top5;
  values_[kSamples] = sums.samples;
}

void ControlMessage::set_stop(const StopFlags& flags) {
  write_flags(flags, std::span(values_).subspan(kFirstStop, kStopCauses));
}

Sums ControlMessage::sums() const {
  return {values_[kLoss], values_[kTop1], values_[kTop5], values_[kSamples]};
}

StopFlags ControlMessage::stop() const {
  return read_flags(std::span(values_).subspan(kFirstStop, kStopCauses));
}

}  // namespace kolo::train
