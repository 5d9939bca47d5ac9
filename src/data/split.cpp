#include "kolo/data/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kolo/data/order.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {

TrainVal split_validation(const Dataset& set, double fraction, std::int64_t seed) {
  // 0.29 x 100 is 28.999999999999996: the nudge keeps decimal fractions of whole numbers whole.
  const auto count = static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(set.size()) + 1e-6));
  if (count < 1 || count >= set.size()) {
    throw DataError(
        fmt::format("data.val_fraction = {} takes {} of the {} samples of {} for validation: "
                    "expected at least 1, and at least 1 left for training",
                    fraction, count, set.size(), set.description()));
  }
  auto shuffled = permutation(set.size(), RandomSequence(static_cast<std::uint64_t>(seed), Stream::split, 0));
  const auto border = shuffled.begin() + count;
  std::sort(shuffled.begin(), border);
  std::sort(border, shuffled.end());
  return {set.view({border, shuffled.end()}, set.description() + " without the validation samples"),
          set.view({shuffled.begin(), border}, set.description() + ", validation samples")};
}

}  // namespace kolo::data
