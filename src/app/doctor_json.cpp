#include "doctor_json.hpp"

#include "kolo/app/doctor_report.hpp"

namespace kolo::app {
namespace {

using Ordered = nlohmann::ordered_json;

// Takes `key` out of `object`.
Json taken(Json& object, const char* key) {
  Json value = object.at(key);
  object.erase(key);
  return value;
}

}  // namespace

std::string to_json(const DoctorFacts& facts, const std::vector<Finding>& findings) {
  Json hosts = Json::array(), rooms = Json::array(), memory = Json::array();
  for (const HostFacts& host : facts.hosts) {
    Json json = host;
    Json room = taken(json, "shared_memory");
    room["host"] = host.name;
    room["window_bytes"] = taken(json, "window_bytes");
    room["lacks_room"] = taken(json, "lacks_room");
    memory.push_back({{"host", host.name}, {"bytes_per_s", taken(json, "copy_speed")}});
    rooms.push_back(room);
    hosts.push_back(json);
  }
  Json ranks = Json::array(), compute = Json::array();
  for (const RankFacts& rank : facts.ranks) {
    Json json = rank;
    Json speed = taken(json, "speed");
    speed["rank"] = rank.rank;
    compute.push_back(speed);
    ranks.push_back(json);
  }
  Ordered list = Ordered::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", name_of(finding.severity)},
                    {"name", finding.name},
                    {"text", finding.text},
                    {"fix", finding.fix}});
  }
  const Ordered report = {
      {"healthy", errors_among(findings).empty()},
      {"hosts", hosts},
      {"ranks", ranks},
      {"mpi", Json(facts.hosts.front().mpi)},
      {"launch", Json(facts.launch)},
      {"shared_memory", {{"model", facts.window_model}, {"hosts", rooms}}},
      {"libtorch", Json(facts.torch)},
      {"speed", {{"ranks", compute}, {"memory", memory}, {"exchanges", Json(facts.exchanges)}}},
      {"findings", list}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kolo::app
