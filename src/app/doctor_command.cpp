#include <fmt/format.h>

#include "doctor_parts.hpp"
#include "doctor_wording.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/doctor_report.hpp"
#include "kolo/app/json_file.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

void require_healthy(const std::vector<Finding>& findings) {
  const std::vector<std::string> names = errors_among(findings);
  if (names.empty()) return;
  throw CommError(
      fmt::format("doctor: {} mending: {}",
                  names.size() == 1 ? "1 finding needs" : fmt::format("{} findings need", names.size()),
                  util::join(names, ", ")),
      "each is listed above with its fix");
}

}  // namespace

ExitCode doctor_command(RunContext& run) {
  require_writable_json(run);
  DoctorFacts facts = gather_facts(run);
  add_window_size(run, facts);
  measure_speeds(run, facts);
  const std::vector<Finding> findings = judge(facts);
  if (run.is_root()) {
    for (const auto& lines : {describe(facts), describe(findings)}) {
      for (const std::string& line : lines)
        util::log(line);
    }
  }
  write_json(run, to_json(facts, findings));
  // The other ranks may see variables that rank 0 does not: what it has shown is what counts.
  comm::agree(run.world(), [&] {
    if (run.is_root()) require_healthy(findings);
  });
  return ExitCode::finished;
}

}  // namespace kolo::app
