// Clipping by the global norm, as torch.nn.utils.clip_grad_norm_ does it.
#pragma once

namespace kolo::optim {

/// min(1, max_norm / (norm + 1e-6)): what gradients of this norm are multiplied by.  NaN when the norm is.
double clip_scale(double norm, double max_norm);

}  // namespace kolo::optim
