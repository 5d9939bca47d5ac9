// What a forward and backward pass needs besides parameters: measured on a few samples, not guessed from
// layer types.
#pragma once

#include <cstdint>

#include "kolo/data/dataset.hpp"
#include "kolo/model/network.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::train {

/// Estimated peak bytes of activations and temporaries for a pass over `batch` samples: libtorch's
/// allocations are counted for passes over 2 and 4 samples and extended linearly.  Gradients left in the
/// network are cleared.
double activation_bytes(model::Network& network, const data::ImageShape& shape, DType type,
                        std::int64_t batch);

}  // namespace kolo::train
