#include "kolo/optim/clip.hpp"

namespace kolo::optim {

double clip_scale(double norm, double max_norm) {
  const double scale = max_norm / (norm + 1e-6);
  return scale > 1 ? 1 : scale;
}

}  // namespace kolo::optim
