#include "kolo/model/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::model {
namespace {

using Table = std::map<std::string, ModelEntry>;

/// A function's static: registrations run before main in no fixed order.
Table& table() {
  static Table entries;
  return entries;
}

const ModelEntry& find(const std::string& name) {
  const auto it = table().find(name);
  if (it != table().end()) return it->second;
  const auto names = network_names();
  std::string hint = fmt::format("known models: {}", util::join(names, ", "));
  if (const auto near = util::nearest(name, names)) hint = fmt::format("did you mean {}? {}", *near, hint);
  throw ConfigError(fmt::format("model.name = {}: unknown model", name), hint);
}

void check_sizes(const ModelSpec& spec, const ModelEntry& entry) {
  if (spec.channels < 1 || std::min(spec.height, spec.width) < entry.smallest_image) {
    throw ConfigError(
        fmt::format("model.name = {}: images of {} x {} x {} (channels x height x width), expected at least "
                    "1 x {} x {}",
                    spec.section.name, spec.channels, spec.height, spec.width, entry.smallest_image,
                    entry.smallest_image),
        "choose a model for smaller images (mlp takes any), or larger images");
  }
  if (spec.classes < 1) {
    throw ConfigError(
        fmt::format("model.name = {}: {} classes, expected at least 1", spec.section.name, spec.classes));
  }
}

}  // namespace

Registration::Registration(const std::string& name, const ModelEntry& entry) {
  if (!table().emplace(name, entry).second) throw std::logic_error("model " + name + " is registered twice");
}

std::shared_ptr<Network> make_network(const ModelSpec& spec) {
  const ModelEntry& entry = find(spec.section.name);
  check_sizes(spec, entry);
  if (spec.section.dropout > 0 && entry.dropout == Dropout::none) {
    throw ConfigError(fmt::format("model.dropout = {}: {} has no dropout, expected 0", spec.section.dropout,
                                  spec.section.name),
                      "remove model.dropout, or choose a model that has it");
  }
  return entry.make(spec);
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : table())
    names.push_back(name);
  return names;
}

}  // namespace kolo::model
