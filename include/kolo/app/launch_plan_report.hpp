// What `kolo plan` prints, and its JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kolo/app/launch_plan_lines.hpp"

namespace kolo::app {

/// "2 ranks x 1 thread"
std::string text_of(const Combination& combination);

/// What will happen, before it does.
std::string announcement(const LaunchSite& site, const config::CommandLine& line,
                         std::span<const PlanRow> rows);
/// What is not as the deck says, or not alike in all jobs.
std::vector<std::string> notes(const LaunchSite& site, const config::LoadedConfig& loaded,
                               std::int64_t fixed_batch);
/// A job that just ended.
std::string progress_line(const PlanRow& row);

/// The table and the reasons of rows that were not measured.  `rows` are ranked.
std::vector<std::string> table(std::span<const PlanRow> rows);
/// Why the advised combination, and its launch.  `rows` are ranked, the first measured.
std::vector<std::string> advice(std::span<const PlanRow> rows, const std::string& launch_line);

std::string to_json(const LaunchSite& site, std::span<const PlanRow> rows, const std::string& launch_line);

}  // namespace kolo::app
