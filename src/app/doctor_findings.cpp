#include "kolo/app/doctor_findings.hpp"

#include <algorithm>

namespace kolo::app {

std::string name_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "?";
}

std::vector<Finding> judge(const DoctorFacts& facts) {
  std::vector<Finding> all;
  for (const auto part : {judge_cores, judge_launch, judge_shared_memory, judge_speed}) {
    std::ranges::move(part(facts), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::greater<>(), &Finding::severity);
  return all;
}

}  // namespace kolo::app
