// What to try when numbers are not finite.
#pragma once

namespace kolo::train {

inline constexpr const char* kDivergedHint =
    "lower optimizer.lr, set train.clip_norm or a longer schedule.warmup_epochs";
/// Where it is not in force already.
inline constexpr const char* kSkipHint = "; train.on_nonfinite = skip leaves\nsteps with such gradients out";

}  // namespace kolo::train
