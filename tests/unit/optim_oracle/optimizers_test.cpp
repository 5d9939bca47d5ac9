// Every optimizer option against libtorch's optimizer, over several steps with several tensors of odd sizes.
#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <string>
#include <vector>

#include "kolo/optim/slice_optimizer.hpp"

namespace kolo::optim {
namespace {

using config::OptimizerName;
using config::OptimizerSection;

constexpr int kSteps = 7;
const std::vector<std::int64_t> kSizes = {1, 17, 333, 64, 1001};

struct Case {
  std::string name;
  OptimizerSection section;
  double weight_decay = 0;
};

Case sgd(std::string name, double momentum, bool nesterov, double weight_decay) {
  Case result{std::move(name), {}, weight_decay};
  result.section.momentum = momentum;
  result.section.nesterov = nesterov;
  return result;
}

Case adam(std::string name, OptimizerName kind, double weight_decay) {
  Case result{std::move(name), {}, weight_decay};
  result.section.name = kind;
  result.section.beta1 = 0.8;
  result.section.beta2 = 0.97;
  // Where a gradient cancels against its weight decay, Adam's first step amplifies rounding by lr / eps: a
  // small eps would make the fp32 bound a matter of luck.
  result.section.eps = 1e-4;
  return result;
}

std::unique_ptr<torch::optim::Optimizer> torch_optimizer(const Case& c, std::vector<at::Tensor> params) {
  const OptimizerSection& s = c.section;
  switch (s.name) {
    case OptimizerName::sgd:
      return std::make_unique<torch::optim::SGD>(std::move(params), torch::optim::SGDOptions(s.lr)
                                                                        .momentum(s.momentum)
                                                                        .nesterov(s.nesterov)
                                                                        .weight_decay(c.weight_decay));
    case OptimizerName::adam:
      return std::make_unique<torch::optim::Adam>(
          std::move(params),
          torch::optim::AdamOptions(s.lr).betas({s.beta1, s.beta2}).eps(s.eps).weight_decay(c.weight_decay));
    case OptimizerName::adamw:
      return std::make_unique<torch::optim::AdamW>(
          std::move(params),
          torch::optim::AdamWOptions(s.lr).betas({s.beta1, s.beta2}).eps(s.eps).weight_decay(c.weight_decay));
  }
  return nullptr;
}

/// One copy of the parameters in torch's hands and one in a flat array with gaps between the tensors.
template <class T>
class Pair {
 public:
  explicit Pair(const Case& c) {
    at::manual_seed(7);  // libtorch's own seed differs from run to run in C++
    const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
    std::vector<Segment> segments;
    std::int64_t end = 0;
    for (const std::int64_t size : kSizes) {
      tensors_.push_back(at::randn({size}, options));
      segments.push_back({end, end + size, c.weight_decay});
      params_.insert(params_.end(), tensors_.back().template data_ptr<T>(),
                     tensors_.back().template data_ptr<T>() + size);
      end += (size + 15) / 16 * 16;
      params_.resize(static_cast<std::size_t>(end));
    }
    segments_ = segments;
    for (at::Tensor& tensor : tensors_)
      tensor.requires_grad_();
    theirs_ = torch_optimizer(c, tensors_);
    ours_ = make_optimizer<T>(c.section, std::move(segments));
    states_.assign(ours_->state_names().size(), std::vector<T>(params_.size()));
  }

  void step(std::int64_t number, double lr, double grad_scale) {
    std::vector<T> grads(params_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const at::Tensor grad = at::randn(tensors_[i].sizes(), tensors_[i].options().requires_grad(false));
      std::copy_n(grad.data_ptr<T>(), grad.numel(), grads.begin() + segments_[i].begin);
      tensors_[i].mutable_grad() = grad * grad_scale;
    }
    for (auto& group : theirs_->param_groups())
      group.options().set_lr(lr);
    theirs_->step();
    std::vector<T*> pointers;
    for (auto& state : states_)
      pointers.push_back(state.data());
    ours_->update(params_.data(), grads.data(), pointers, 0, static_cast<std::int64_t>(params_.size()),
                  {lr, number, grad_scale});
  }

  double largest_difference() const {
    double largest = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const T* theirs = tensors_[i].template data_ptr<T>();
      for (std::int64_t j = 0; j < kSizes[i]; ++j) {
        const T ours = params_[static_cast<std::size_t>(segments_[i].begin + j)];
        largest = std::max(largest, std::abs(static_cast<double>(ours) - static_cast<double>(theirs[j])));
      }
    }
    return largest;
  }

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<Segment> segments_;
  std::vector<T> params_;
  std::vector<std::vector<T>> states_;
  std::unique_ptr<torch::optim::Optimizer> theirs_;
  std::unique_ptr<SliceOptimizer<T>> ours_;
};

class AgainstTorch : public testing::TestWithParam<Case> {
 protected:
  template <class T>
  double difference_after_all_steps() {
    Pair<T> pair(GetParam());
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      pair.step(step, 0.01 * static_cast<double>(step), step % 2 == 0 ? 1 : 0.3);
    }
    return pair.largest_difference();
  }
};

// Parameters are of order 1; torch's kernels contract multiply and add, ours do not.
TEST_P(AgainstTorch, Fp32AgreesToRounding) { EXPECT_LT(difference_after_all_steps<float>(), 5e-6); }
TEST_P(AgainstTorch, Fp64AgreesTo1em12) { EXPECT_LT(difference_after_all_steps<double>(), 1e-12); }

INSTANTIATE_TEST_SUITE_P(
    Options, AgainstTorch,
    testing::Values(sgd("sgd", 0, false, 0), sgd("sgd_decay", 0, false, 0.1),
                    sgd("sgd_momentum", 0.9, false, 0), sgd("sgd_momentum_decay", 0.9, false, 0.1),
                    sgd("sgd_nesterov", 0.9, true, 0), sgd("sgd_nesterov_decay", 0.7, true, 0.1),
                    adam("adam", OptimizerName::adam, 0), adam("adam_decay", OptimizerName::adam, 0.1),
                    adam("adamw", OptimizerName::adamw, 0), adam("adamw_decay", OptimizerName::adamw, 0.1)),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace kolo::optim
