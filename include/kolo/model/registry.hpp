// Models by name.
//
// Each model's file registers itself with a static Registration, so adding a model touches no other file; the
// library is linked whole for that.  What every model must check (known name, image size, dropout) is checked
// here once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kolo/config/config.hpp"
#include "kolo/model/network.hpp"

namespace kolo::model {

/// The deck's [model] section and what the data set says.
struct ModelSpec {
  config::ModelSection section;
  std::int64_t channels;
  std::int64_t height;  ///< pixels
  std::int64_t width;   ///< pixels
  std::int64_t classes;
};

/// Whether a model has a place for model.dropout.
enum class Dropout { none, before_last_layer };

struct ModelEntry {
  std::shared_ptr<Network> (*make)(const ModelSpec&);
  Dropout dropout = Dropout::none;
  std::int64_t smallest_image = 1;  ///< least height and width, pixels
};

/// Makes a model known; for static objects.  Throws std::logic_error for a name that is taken.
struct Registration {
  Registration(const std::string& name, const ModelEntry& entry);
};

/// Initial weights come from torch's default generator: seed it first.  Training mode, fp32, CPU.
/// Throws ConfigError for an unknown name, images too small for the model, or dropout that the model does not
/// have.
std::shared_ptr<Network> make_network(const ModelSpec& spec);

/// Sorted.
std::vector<std::string> network_names();

}  // namespace kolo::model
