#include "kolo/comm/pulse.hpp"

namespace kolo::comm {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::data:
      return "data";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::exchange:
      return "exchange";
    case Phase::update:
      return "update";
    case Phase::evaluation:
      return "evaluation";
    case Phase::checkpoint:
      return "checkpoint";
    case Phase::ending:
      return "ending";
  }
  return "?";
}

std::string describe(const Place& place) {
  if (place.step < 0) return "no sign of its node";
  if (place.phase == Phase::starting && place.step == 0) return name_of(place.phase);
  std::string text = "step " + std::to_string(place.step) + ", " + name_of(place.phase);
  if (place.phase == Phase::exchange && place.bucket >= 0)
    text += " of bucket " + std::to_string(place.bucket);
  return text;
}

Pulse::Pulse() : slot_(std::make_shared<PulseSlot>()) { slot_->bucket = -1; }

Pulse::Pulse(PulseSlot& slot) : slot_(&slot, [](PulseSlot*) {}) { slot_->bucket = -1; }

void Pulse::beat() const { slot_->beats.fetch_add(1, std::memory_order_relaxed); }

void Pulse::enter(Phase phase) const {
  slot_->phase.store(static_cast<int>(phase), std::memory_order_relaxed);
  slot_->bucket.store(-1, std::memory_order_relaxed);
  beat();
}

void Pulse::enter_step(std::int64_t step) const {
  slot_->step.store(step, std::memory_order_relaxed);
  beat();
}

void Pulse::enter_bucket(std::int64_t bucket) const {
  slot_->bucket.store(bucket, std::memory_order_relaxed);
  slot_->phase.store(static_cast<int>(Phase::exchange), std::memory_order_relaxed);
  beat();
}

Place Pulse::place() const {
  return {static_cast<Phase>(slot_->phase.load(std::memory_order_relaxed)),
          slot_->step.load(std::memory_order_relaxed), slot_->bucket.load(std::memory_order_relaxed)};
}

}  // namespace kolo::comm
