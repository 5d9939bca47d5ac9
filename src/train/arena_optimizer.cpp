#include "kolo/train/arena_optimizer.hpp"

namespace kolo::train {
namespace {

template <class T>
class TypedArenaOptimizer final : public ArenaOptimizer {
 public:
  explicit TypedArenaOptimizer(std::unique_ptr<optim::SliceOptimizer<T>> slices)
      : slices_(std::move(slices)) {}

  std::vector<std::string> state_names() const override {
    const auto names = slices_->state_names();
    return {names.begin(), names.end()};
  }

  void update(const fusion::ArenaMemory& memory, std::int64_t begin, std::int64_t end,
              const std::byte* gradients, const optim::StepScalars& scalars) const override {
    std::vector<T*> states;
    for (std::byte* state : memory.states)
      states.push_back(reinterpret_cast<T*>(state));
    // The slice optimizer indexes all arrays by arena position.
    const T* origin = reinterpret_cast<const T*>(gradients) - begin;
    slices_->update(reinterpret_cast<T*>(memory.parameters), origin, states, begin, end, scalars);
  }

 private:
  std::unique_ptr<optim::SliceOptimizer<T>> slices_;
};

}  // namespace

std::vector<optim::Segment> make_segments(const fusion::BucketPlan& plan,
                                          const config::OptimizerSection& section) {
  std::vector<optim::Segment> segments;
  for (const fusion::Slot& slot : plan.slots) {
    // Biases and the scales and shifts of normalisation layers are the parameters of one dimension.
    const bool exempt =
        section.no_decay == config::NoDecay::bias_and_norm && slot.parameter.shape.size() <= 1;
    segments.push_back({slot.begin, slot.end(), exempt ? 0 : section.weight_decay});
  }
  return segments;
}

std::unique_ptr<ArenaOptimizer> make_arena_optimizer(const config::OptimizerSection& section,
                                                     const fusion::BucketPlan& plan, DType type) {
  std::vector<optim::Segment> segments = make_segments(plan, section);
  if (type == DType::f64) {
    return std::make_unique<TypedArenaOptimizer<double>>(
        optim::make_optimizer<double>(section, std::move(segments)));
  }
  return std::make_unique<TypedArenaOptimizer<float>>(
      optim::make_optimizer<float>(section, std::move(segments)));
}

}  // namespace kolo::train
