#include "kolo/app/launch_plan.hpp"

#include <algorithm>
#include <bit>

#include "kolo/config/batch_geometry.hpp"

namespace kolo::app {

std::vector<Combination> combinations(int cores) {
  std::vector<Combination> all;
  for (int ranks = 1; ranks <= cores; ++ranks) {
    const bool divides = cores % ranks == 0;
    const bool between = cores % 2 == 1 && std::has_single_bit(static_cast<unsigned>(ranks));
    if (divides || between) all.push_back({ranks, cores / ranks});
  }
  return all;
}

std::vector<PlanRow> plan_rows(int cores, const config::TrainSection& train) {
  std::vector<PlanRow> rows;
  for (const Combination& combination : combinations(cores)) {
    PlanRow row;
    row.combination = combination;
    try {
      row.global_batch = config::resolve_batch(train, combination.ranks).global_batch;
    } catch (const ConfigError& unfit) {
      row.attempt = Attempt::skipped;
      row.reason = unfit.what();
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<PlanRow> ranked(std::vector<PlanRow> rows) {
  const auto rate = [](const PlanRow& row) {
    return row.attempt == Attempt::measured ? row.samples_per_s : -1.0;
  };
  std::ranges::stable_sort(rows, std::ranges::greater(), rate);
  return rows;
}

const PlanRow& advised(std::span<const PlanRow> rows) {
  const PlanRow* best = &rows.front();
  const double enough = rows.front().samples_per_s * (1 - kEqualWithin);
  for (const PlanRow& row : rows) {
    if (row.attempt != Attempt::measured || row.samples_per_s < enough) continue;
    if (row.combination.ranks < best->combination.ranks) best = &row;
  }
  return *best;
}

}  // namespace kolo::app
