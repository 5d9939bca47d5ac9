// What to try when numbers are not finite.
#pragma once

namespace kolo::train {

inline constexpr const char* kDivergedHint =
    "lower optimizer.lr, set train.clip_norm or a longer schedule.warmup_epochs; train.on_nonfinite = skip "
    "leaves steps with\n"
    "such gradients out";

}  // namespace kolo::train
