// `kolo verify`: whether the files of a run directory are whole and fit together.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kolo/app/commands.hpp"
#include "kolo/app/json_file.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/io/verify.hpp"
#include "kolo/util/log.hpp"

namespace kolo::app {
namespace {

namespace fs = std::filesystem;

std::string point(const io::ResumePoint& resume) {
  if (!resume.step) return resume.name;
  return fmt::format("{} (step {})", resume.name, *resume.step);
}

std::string line_of(const io::FileVerdict& file) {
  const std::string text = fmt::format("  {:<8}{:<32} {}", io::name_of(file.state), file.name, file.what);
  return config::printable(text.substr(0, text.find_last_not_of(' ') + 1));
}

std::string conclusion(const std::string& directory, const io::RunVerdict& verdict) {
  const std::string resume = verdict.resume ? "a resume goes on from " + point(*verdict.resume)
                             : verdict.checkpoints == 0
                                 ? std::string("no checkpoint: nothing to resume from")
                                 : std::string("no checkpoint is whole: nothing to resume from");
  const std::string state = verdict.damaged() == 0 ? "whole"
                                                   : fmt::format("damaged: {} of {} files", verdict.damaged(),
                                                                 verdict.files.size());
  return config::printable(fmt::format("{}: {}; {}", directory, state, resume));
}

std::string to_json(const std::string& directory, const io::RunVerdict& verdict) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json json = {{"directory", directory}, {"whole", verdict.damaged() == 0}, {"resume", nullptr}};
  if (const auto& resume = verdict.resume)
    json["resume"] = {
        {"checkpoint", resume->name}, {"step", or_null(resume->step)}, {"epoch", or_null(resume->epoch)}};
  json["in_use_by"] = or_null(verdict.holder);
  json["files"] = Json::array();
  for (const io::FileVerdict& file : verdict.files)
    json["files"].push_back({{"name", file.name}, {"state", io::name_of(file.state)}, {"what", file.what}});
  // File names may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Verifying changes nothing in the directory, and what was verified must stay as it was.
void require_outside(const std::string& json, const std::string& directory) {
  std::error_code unknown;
  const fs::path run = fs::weakly_canonical(directory, unknown);
  const fs::path file = fs::weakly_canonical(fs::absolute(json, unknown), unknown);
  const auto end = std::mismatch(run.begin(), run.end(), file.begin(), file.end()).first;
  if (end == run.end() && !run.empty())
    throw ConfigError(
        fmt::format("--json {}: lies in the run directory, where kolo verify changes nothing", json),
        "give a file elsewhere");
}

std::string damage_hint(const io::RunVerdict& verdict) {
  const bool newest = std::ranges::none_of(verdict.files, [](const io::FileVerdict& file) {
    return file.state == io::FileState::damaged && file.name.starts_with("checkpoints/step_");
  });
  if (verdict.resume)
    return fmt::format("--resume auto would {} {}", newest ? "go on from" : "fall back to",
                       point(*verdict.resume));
  return verdict.checkpoints == 0
             ? "there is no checkpoint to resume from"
             : "no checkpoint is whole: restore one from a copy, or start a new run in another directory";
}

void require_whole(const std::string& directory, const io::RunVerdict& verdict) {
  const auto first = std::ranges::find(verdict.files, io::FileState::damaged, &io::FileVerdict::state);
  if (first == verdict.files.end()) return;
  throw CheckpointError(
      config::printable(fmt::format("{} of {} files in run directory '{}' {} damaged; the first is {}: {}",
                                    verdict.damaged(), verdict.files.size(), directory,
                                    verdict.damaged() == 1 ? "is" : "are", first->name, first->what)),
      config::printable(damage_hint(verdict)));
}

}  // namespace

ExitCode verify_command(const RunContext& run) {
  const std::string& directory = run.command_line.operand;
  const std::string& json = run.command_line.json;
  util::enable_log(true);
  if (!json.empty()) {
    require_outside(json, directory);
    require_writable(json);
  }
  const io::RunVerdict verdict = io::verify_run(directory);
  for (const io::FileVerdict& file : verdict.files)
    util::log(line_of(file));
  util::log(conclusion(directory, verdict));
  if (!json.empty()) write_report(json, to_json(directory, verdict));
  require_whole(directory, verdict);
  return ExitCode::finished;
}

}  // namespace kolo::app
