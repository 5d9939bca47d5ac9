#include "kolo/app/launch_plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kolo/config/choices.hpp"

namespace kolo::app {
namespace {

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string_view word_for(Attempt attempt) {
  switch (attempt) {
    case Attempt::planned:
      return "planned";
    case Attempt::skipped:
      return "skipped";
    case Attempt::failed:
      return "failed";
    case Attempt::measured:
      return "measured";
  }
  return "?";
}

std::string table_row(const PlanRow& row, double best) {
  const auto [ranks, threads] = row.combination;
  const std::string batch = row.global_batch > 0 ? std::to_string(row.global_batch) : "-";
  const std::string start = fmt::format("  {:>5} {:>8} {:>13}", ranks, threads, batch);
  if (row.attempt != Attempt::measured) return fmt::format("{} {:>11}", start, word_for(row.attempt));
  return fmt::format("{} {:>11.1f} {:>9.3f} {:>20.3f} {:>8.1f} %", start, row.samples_per_s, row.step_ms,
                     row.exchange_ms + row.update_ms, 100 * row.samples_per_s / best);
}

nlohmann::ordered_json json_row(const PlanRow& row) {
  nlohmann::ordered_json json = {{"ranks", row.combination.ranks}, {"threads", row.combination.threads}};
  const auto add = [&json](const char* key, bool known, auto value) {
    json[key] = known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  const bool measured = row.attempt == Attempt::measured;
  add("global_batch", row.global_batch > 0, row.global_batch);
  add("samples_per_s", measured, row.samples_per_s);
  add("step_ms", measured, row.step_ms);
  add("exchange_ms", measured, row.exchange_ms);
  add("update_ms", measured, row.update_ms);
  add("error", !measured, row.reason);
  return json;
}

}  // namespace

std::string text_of(const Combination& combination) {
  return counted(combination.ranks, "rank") + " x " + counted(combination.threads, "thread");
}

std::string announcement(const LaunchSite& site, const config::CommandLine& line,
                         std::span<const PlanRow> rows) {
  const auto jobs = std::ranges::count(rows, Attempt::planned, &PlanRow::attempt);
  return fmt::format("plan: {}; {} through {}, {} + {} steps each, one after another",
                     counted(site.cores, "core"), counted(jobs, "short job"), config::name_of(site.launcher),
                     line.warmup, line.steps);
}

std::vector<std::string> notes(const LaunchSite& site, const config::LoadedConfig& loaded,
                               std::int64_t fixed_batch) {
  std::vector<std::string> lines;
  const config::TrainSection& train = loaded.config.train;
  if (fixed_batch > 0)
    lines.push_back(fmt::format("  no batch is set: train.global_batch = {}", fixed_batch));
  if (train.batch_per_rank > 0 && train.global_batch == 0) {
    lines.push_back(
        fmt::format("  train.batch_per_rank = {} is set without train.global_batch: the global batch grows "
                    "with the ranks, and with it the training changes",
                    train.batch_per_rank));
  }
  if (loaded.is_set("run.threads")) {
    lines.push_back(fmt::format("  run.threads of {} is replaced in each job", loaded.origin("run.threads")));
  }
  if (site.stay_unbound) {
    lines.push_back(
        "  kolo plan itself is bound to some of the machine's cores: the ranks share those, unbound");
  }
  return lines;
}

std::string progress_line(const PlanRow& row) {
  const std::string start = fmt::format("  {:<24}", text_of(row.combination));
  if (row.attempt != Attempt::measured) return fmt::format("{}{}", start, word_for(row.attempt));
  return fmt::format("{}{:.1f} samples/s", start, row.samples_per_s);
}

std::vector<std::string> table(std::span<const PlanRow> rows) {
  std::vector<std::string> lines = {fmt::format("  {:>5} {:>8} {:>13} {:>11} {:>9} {:>20} {:>10}", "ranks",
                                                "threads", "global batch", "samples/s", "step ms",
                                                "exchange + update ms", "of best")};
  for (const PlanRow& row : rows)
    lines.push_back(table_row(row, rows.front().samples_per_s));
  for (const PlanRow& row : rows) {
    if (row.attempt == Attempt::measured) continue;
    lines.push_back(fmt::format("  {} {}: {}", text_of(row.combination), word_for(row.attempt), row.reason));
  }
  return lines;
}

std::vector<std::string> advice(std::span<const PlanRow> rows, const std::string& launch_line) {
  const PlanRow& choice = advised(rows);
  std::vector<std::string> lines;
  if (choice.combination == rows.front().combination) {
    lines.push_back(fmt::format("plan: {}", text_of(choice.combination)));
  } else {
    lines.push_back(
        fmt::format("plan: {}: within {:.0f} % of the fastest with fewer ranks, which take less memory",
                    text_of(choice.combination), 100 * kEqualWithin));
  }
  lines.push_back("  " + launch_line);
  return lines;
}

std::string to_json(const LaunchSite& site, std::span<const PlanRow> rows, const std::string& launch_line) {
  nlohmann::ordered_json json = {{"cores", site.cores},
                                 {"launcher", config::name_of(site.launcher)},
                                 {"rows", nlohmann::ordered_json::array()},
                                 {"advice", launch_line}};
  for (const PlanRow& row : rows)
    json["rows"].push_back(json_row(row));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace kolo::app
