#include "kolo/train/loader_options.hpp"

namespace kolo::train {
namespace {

data::LoaderOptions common_options(const config::Config& config) {
  data::LoaderOptions options;
  options.seed = static_cast<std::uint64_t>(config.run.seed);
  options.dtype = config.run.dtype == config::Dtype::fp64 ? DType::f64 : DType::f32;
  options.depth = config.data.prefetch;
  options.transform = data::transform_of(config.data);
  return options;
}

}  // namespace

data::LoaderOptions training_options(const config::Config& config) {
  data::LoaderOptions options = common_options(config);
  options.shuffle = config.data.shuffle ? data::Shuffle::on : data::Shuffle::off;
  options.augment = data::Augment::on;
  return options;
}

data::LoaderOptions evaluation_options(const config::Config& config) {
  data::LoaderOptions options = common_options(config);
  options.shuffle = data::Shuffle::off;
  options.augment = data::Augment::off;
  return options;
}

}  // namespace kolo::train
