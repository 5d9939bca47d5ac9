// Loss and accuracy of the model over a whole data set, spread over the ranks.
//
// The set is cut into batches before ranks are thought of, and whole batches are dealt out, so every logit is
// computed in the same batch whatever the number of ranks: counts are the same integers, nothing is repeated
// or dropped.
#pragma once

#include <cstdint>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/dataset.hpp"
#include "kolo/model/network.hpp"
#include "kolo/train/sums.hpp"

namespace kolo::train {

/// Plain cross-entropy, without label smoothing; the network is left in training mode.  Collective; throws
/// AgreedError when a rank fails.
Sums evaluate(model::Network& network, const data::Dataset& set, const config::Config& config,
              const comm::Communicator& world);

}  // namespace kolo::train
