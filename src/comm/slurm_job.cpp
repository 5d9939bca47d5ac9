#include "kolo/comm/slurm_job.hpp"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "kolo/util/strings.hpp"
#include "kolo/util/subprocess.hpp"

namespace kolo::comm {
namespace {

constexpr const char* kPatience = "10";  // seconds

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

std::string run_squeue(const std::string& job) {
  const std::vector<std::string> words = {"timeout", kPatience, "squeue", "-h", "-j", job, "-o", "%L"};
  util::ProgramResult result;
  {
    const util::HeldSignals signals;
    result = util::run_program(words, signals);
  }
  // A request to stop that came meanwhile is still one.
  if (result.interrupted) std::raise(*result.interrupted);
  return result.exit_code == 0 ? result.output : "";
}

}  // namespace

std::optional<std::int64_t> parse_time_left(std::string_view text) {
  const std::string trimmed(util::trim(text));
  const std::size_t dash = trimmed.find('-');
  const auto days = dash == std::string::npos ? 0 : whole_number(std::string_view(trimmed).substr(0, dash));
  if (!days) return std::nullopt;
  const std::vector<std::string> fields =
      util::split(dash == std::string::npos ? trimmed : trimmed.substr(dash + 1), ':');
  if (fields.size() < 2 || fields.size() > 3) return std::nullopt;
  std::int64_t seconds = 0;
  for (const std::string& field : fields) {
    const std::optional<std::int64_t> number = whole_number(field);
    if (!number) return std::nullopt;
    seconds = 60 * seconds + *number;
  }
  return seconds + *days * 86400;
}

std::optional<std::int64_t> ask_slurm_for_job_end() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr || !whole_number(job)) return std::nullopt;
  const std::optional<std::int64_t> left = parse_time_left(run_squeue(job));
  if (!left) return std::nullopt;
  return static_cast<std::int64_t>(std::time(nullptr)) + *left;
}

}  // namespace kolo::comm
