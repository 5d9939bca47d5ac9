#include "inspect_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kolo/config/deck.hpp"

namespace kolo::app {
namespace {

using Json = nlohmann::ordered_json;

// Paths and names may be any bytes.
std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json json_of(const io::MetricTable& table) {
  Json last_row = nullptr;
  for (std::size_t i = 0; !table.rows.empty() && i < table.columns.size(); ++i)
    last_row[table.columns[i]] = table.rows.back().at(i);  // NaN is written as null
  return {{"columns", table.columns}, {"rows", table.rows.size()}, {"last_row", std::move(last_row)}};
}

Json json_of(const std::map<std::string, io::ProgressValue>& progress) {
  Json json = Json::object();
  for (const auto& [key, value] : progress)
    std::visit([&, name = key](const auto& known) { json[name] = known; }, value);
  return json;
}

Json json_of(const io::GroupFacts& group) {
  return {
      {"name", group.name}, {"tensors", group.tensors}, {"elements", group.elements}, {"bytes", group.bytes}};
}

Json json_of(const std::optional<io::ElementValue>& value) {
  if (!value) return nullptr;
  return std::visit([](auto number) { return Json(number); }, *value);
}

Json json_of(const io::TensorFacts& tensor) {
  return {{"path", tensor.path},
          {"type", name_of(tensor.type)},
          {"shape", tensor.shape},
          {"elements", tensor.elements},
          {"min", json_of(tensor.min)},
          {"max", json_of(tensor.max)},
          {"mean", tensor.mean ? Json(*tensor.mean) : Json(nullptr)},
          {"zeros", tensor.zeros},
          {"non_finite", tensor.non_finite}};
}

Json json_of(const DeckSummary& deck) {
  if (!deck.error.empty()) return {{"error", deck.error}};
  Json json = {{"keys", deck.keys}};
  for (const auto& [key, value] : deck.shown)
    json[key] = value;
  return json;
}

void add_checkpoint(const io::CheckpointFile& file, const std::vector<io::TensorFacts>* tensors, Json& json) {
  json["kind"] = "checkpoint";
  json["format"] = {
      {"version", file.format.version}, {"creator", file.format.creator}, {"created", file.format.created}};
  json["progress"] = json_of(file.content.progress);
  json["deck"] = json_of(summarize_deck(file.content.config));
  json["groups"] = Json::array();
  for (const io::GroupFacts& group : io::groups_of(file.content))
    json["groups"].push_back(json_of(group));
  json["metrics"] = json_of(file.content.metrics);
  if (tensors == nullptr) return;
  json["tensors"] = Json::array();
  for (const io::TensorFacts& tensor : *tensors)
    json["tensors"].push_back(json_of(tensor));
}

}  // namespace

DeckSummary summarize_deck(const std::string& text) {
  constexpr std::array<std::string_view, 3> kShown = {"model.name", "optimizer.name", "run.seed"};
  DeckSummary summary;
  try {
    const config::Deck deck = config::parse_deck(text, "/config");
    summary.keys = deck.entries.size();
    for (const config::DeckEntry& entry : deck.entries)
      if (std::ranges::find(kShown, entry.key) != kShown.end())
        summary.shown.emplace_back(entry.key, entry.value);
  } catch (const ConfigError& error) {
    summary.error = error.what();
  }
  return summary;
}

std::string inspect_json(const std::string& path, const io::KoloFile& file,
                         const std::vector<io::TensorFacts>* tensors) {
  Json json = {{"file", path}, {"whole", true}, {"bytes", file.bytes}};
  if (const auto* checkpoint = std::get_if<io::CheckpointFile>(&file.content)) {
    add_checkpoint(*checkpoint, tensors, json);
  } else {
    json["kind"] = "metrics";
    json["metrics"] = json_of(std::get<io::MetricTable>(file.content));
  }
  return dump(json);
}

std::string damaged_json(const std::string& path, const CheckpointError& error) {
  return dump({{"file", path}, {"whole", false}, {"reason", error.what()}});
}

}  // namespace kolo::app
