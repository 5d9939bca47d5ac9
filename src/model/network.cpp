#include "kolo/model/network.hpp"

namespace kolo::model {

std::vector<BatchNorm2d*> Network::batch_norms() const {
  std::vector<BatchNorm2d*> layers;
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* layer = dynamic_cast<BatchNorm2d*>(module.get())) layers.push_back(layer);
  }
  return layers;
}

}  // namespace kolo::model
