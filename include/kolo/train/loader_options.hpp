// How batches are made for training and for evaluation.
#pragma once

#include "kolo/config/config.hpp"
#include "kolo/data/loader.hpp"

namespace kolo::train {

/// Shuffled as the deck says, augmented.
data::LoaderOptions training_options(const config::Config& config);
/// In stored order, without augmentation.
data::LoaderOptions evaluation_options(const config::Config& config);

}  // namespace kolo::train
