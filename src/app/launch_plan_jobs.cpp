#include "kolo/app/launch_plan_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kolo/config/choices.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const fs::path& where) : path_((where / "kolo-plan-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw Error(ExitCode::usage, fmt::format("cannot make a directory for results in {}: {}",
                                               where.string(), std::strerror(errno)));
    }
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const char* name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

// A job of srun may run on another machine, which sees the directory of the deck but not this one's /tmp.
fs::path results_parent(config::Launcher launcher) {
  if (launcher == config::Launcher::srun) return fs::current_path();
  const char* chosen = std::getenv("TMPDIR");
  return chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string how_it_ended(const util::ProgramResult& program) {
  if (program.signal) return fmt::format("ended by signal {}", *program.signal);
  if (program.exit_code != 0) return fmt::format("exit code {}", program.exit_code.value_or(-1));
  return "ended without results";
}

bool speaks(const std::string& line) {
  return std::ranges::any_of(line, [](unsigned char c) { return std::isalnum(c) != 0; });
}

// What a program said of its failure.  mpirun sets its messages between rules, the reason first; others end
// with it.
std::string last_words(const std::vector<std::string>& lines) {
  const auto is_rule = [](const std::string& line) {
    return !line.empty() && line.find_first_not_of('-') == std::string::npos;
  };
  std::string words;
  const auto rule = std::ranges::find_if(lines, is_rule);
  for (auto line = rule; line != lines.end() && (words.empty() || speaks(*line)); ++line) {
    if (speaks(*line)) words += (words.empty() ? "" : " ") + std::string(util::trim(*line));
  }
  const auto last = std::find_if(lines.rbegin(), lines.rend(), speaks);
  if (words.empty() && last != lines.rend()) words = util::trim(*last);
  return config::printable(words);
}

PlanRow failed(PlanRow row, const util::ProgramResult& program) {
  constexpr std::string_view kStart = "kolo: error[";
  row.attempt = Attempt::failed;
  const std::vector<std::string> lines = util::split(program.output, '\n');
  for (const std::string& line : lines) {
    int code = 0;
    const std::size_t text = line.find("]: ");
    if (!line.starts_with(kStart) || text == std::string::npos) continue;
    std::from_chars(line.data() + kStart.size(), line.data() + text, code);
    if (code > 0 && code <= static_cast<int>(ExitCode::diverged)) row.failure = static_cast<ExitCode>(code);
    row.reason = config::printable(line.substr(text + 3));
    return row;
  }
  const std::string words = last_words(lines);
  row.reason = how_it_ended(program) + (words.empty() ? " and no word" : ": " + words);
  return row;
}

CommError not_started(const LaunchSite& site, const std::string& why) {
  const bool is_mpirun = site.launcher == config::Launcher::mpirun;
  return CommError(
      fmt::format("cannot start {}: {}", config::name_of(site.launcher), why),
      is_mpirun ? "put the mpirun of the MPI kolo was built with first in PATH; with Slurm: --launcher srun"
                : "srun is a part of Slurm; without Slurm leave out --launcher");
}

}  // namespace

PlanRow read_results(PlanRow row, const util::ProgramResult& program, const std::string& json) {
  if (program.exit_code != 0) return failed(std::move(row), program);
  try {
    const nlohmann::json values = nlohmann::json::parse(json);
    row.samples_per_s = values.at("samples_per_s");
    row.step_ms = values.at("step_ms");
    row.exchange_ms = values.at("exchange_ms");
    row.update_ms = values.at("update_ms");
  } catch (const nlohmann::json::exception&) {
    return failed(std::move(row), program);
  }
  row.attempt = Attempt::measured;
  return row;
}

JobResult run_job(const LaunchSite& site, const JobTemplate& job, const PlanRow& row,
                  const util::HeldSignals& signals) {
  const TemporaryDirectory directory(results_parent(site.launcher));
  const fs::path json = directory / "results.json";
  std::vector<std::string> words = job_words(site, job, row.combination);
  words.insert(words.end(), {"--json", json.string()});
  util::ProgramResult program = util::run_program(words, signals);
  if (!program.start_error.empty()) throw not_started(site, program.start_error);
  if (!program.interrupted) program.interrupted = signals.take();
  return {read_results(row, program, read_text(json)), program.interrupted};
}

}  // namespace kolo::app
