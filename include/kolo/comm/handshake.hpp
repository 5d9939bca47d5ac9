// Before step 1 the ranks make sure that they are about to do the same thing.
//
// Each rank lists what it depends on (deck, data, parameters, bucket plan), one line an item.  Only digests
// travel unless they differ; then the first differing item is named with both ranks, instead of a hang or
// silently wrong sums later.
#pragma once

#include <string>
#include <vector>

#include "kolo/comm/communicator.hpp"

namespace kolo::comm {

/// Throws AgreedError on every rank when some rank's items differ from rank 0's.  Collective.
void require_same(const Communicator& world, const std::vector<std::string>& items);

}  // namespace kolo::comm
