// What the trainer knows of a model: images in, logits out.
//
// Parameters and buffers carry torchvision's names and registration order where torchvision has the model, so
// that its weight files fit; that order is also the order of the parameter arena.  After construction a
// network holds fp32 on the CPU and works unchanged in fp64 (`network->to(at::kDouble)`).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <vector>

#include "kolo/model/batch_norm.hpp"

namespace kolo::model {

class Network : public torch::nn::Module {
 public:
  /// `images`: N x C x H x W, of the network's floating type and in any memory format.  Returns logits, N x
  /// classes.
  virtual at::Tensor forward(at::Tensor images) = 0;

  /// Lays the weights of convolutions out as `format`; to be called before anything views the parameters.
  /// Values and logical shapes stay as they are; without convolutions nothing changes.
  void set_memory_format(at::MemoryFormat format);
  /// What images should be converted to for the fastest forward pass.
  at::MemoryFormat memory_format() const { return memory_format_; }

  /// The batch-norm layers in registration order; owned by the network.
  std::vector<BatchNorm2d*> batch_norms() const;

 private:
  at::MemoryFormat memory_format_ = at::MemoryFormat::Contiguous;
};

}  // namespace kolo::model
