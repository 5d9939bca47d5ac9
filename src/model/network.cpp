#include "kolo/model/network.hpp"

namespace kolo::model {

void Network::set_memory_format(at::MemoryFormat format) {
  for (at::Tensor& parameter : parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.detach().contiguous(format));
    memory_format_ = format;
  }
}

std::vector<BatchNorm2d*> Network::batch_norms() const {
  std::vector<BatchNorm2d*> layers;
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* layer = dynamic_cast<BatchNorm2d*>(module.get())) layers.push_back(layer);
  }
  return layers;
}

}  // namespace kolo::model
