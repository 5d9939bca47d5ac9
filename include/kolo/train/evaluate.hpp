// Loss and accuracy of the model over a whole data set, spread over the ranks.
//
// The set is cut into batches before ranks are thought of, and whole batches are dealt out, so every logit is
// computed in the same batch whatever the number of ranks: counts are the same integers, nothing is repeated
// or dropped.
#pragma once

#include <cstdint>

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/pulse.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/dataset.hpp"
#include "kolo/model/network.hpp"
#include "kolo/train/stop.hpp"
#include "kolo/train/sums.hpp"

namespace kolo::train {

struct Evaluation {
  Sums sums;       ///< over all ranks; of a part of the set when it was stopped
  StopFlags stop;  ///< over all ranks; any: the evaluation was given up
};

/// Plain cross-entropy, without label smoothing; the network is left in training mode.  `poll` is asked after
/// every batch.  Collective; throws AgreedError when a rank fails.
Evaluation evaluate(model::Network& network, const data::Dataset& set, const config::Config& config,
                    const comm::Communicator& world, const StopPoll& poll, const comm::Pulse& pulse);

}  // namespace kolo::train
