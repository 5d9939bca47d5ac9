// What `kolo plan` tries, and what it makes of the results.
//
// The cores of a node can be divided into many ranks with few threads or few ranks with many; which is
// faster depends on the model and the batch, so it is measured, one combination at a time.  All of it is
// computed here from plain values; starting the jobs is launch_plan_jobs.hpp's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kolo/config/config.hpp"
#include "kolo/util/error.hpp"

namespace kolo::app {

struct Combination {
  int ranks = 1;
  int threads = 1;  ///< a rank

  bool operator==(const Combination&) const = default;
};

/// Ranks x threads for `cores` >= 1, by rising ranks: every divisor of it, and for odd numbers, which have
/// few, the powers of two as well, with the threads rounded down.
std::vector<Combination> combinations(int cores);

enum class Attempt {
  planned,
  skipped,  ///< the batch does not fit
  failed,
  measured,
};

struct PlanRow {
  Combination combination;
  std::int64_t global_batch = 0;  ///< 0: skipped
  Attempt attempt = Attempt::planned;
  std::string reason;                 ///< why it was skipped or failed
  ExitCode failure = ExitCode::comm;  ///< of a failed one
  double samples_per_s = 0;           ///< these four of a measured one
  double step_ms = 0;
  double exchange_ms = 0;
  double update_ms = 0;
};

/// A row for each combination, planned or skipped.
std::vector<PlanRow> plan_rows(int cores, const config::TrainSection& train);

/// The measured rows, fastest first, then the others as they were.
std::vector<PlanRow> ranked(std::vector<PlanRow> rows);

/// Rates this near to the best count as equal to it.
constexpr double kEqualWithin = 0.02;
/// Of the rows that equal the best, the one with the fewest ranks: each holds activations of its own, and
/// less of the time depends on their being equally fast.  `rows` are ranked, the first measured.
const PlanRow& advised(std::span<const PlanRow> rows);

}  // namespace kolo::app
