#include "kolo/app/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kolo/config/deck.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/train/run_state.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

// Keys that change how a run is carried out or how long it lasts, but not what a step computes.  The batch
// keys are here because the stored global batch is adopted before the decks are compared.
constexpr std::array<std::string_view, 23> kMayDiffer = {"run.threads",
                                                         "run.device",
                                                         "run.progress",
                                                         "run.progress_seconds",
                                                         "data.path",
                                                         "data.test_path",
                                                         "data.prefetch",
                                                         "train.epochs",
                                                         "train.max_steps",
                                                         "train.eval_batch",
                                                         "train.accumulate",
                                                         "train.batch_per_rank",
                                                         "train.on_nonfinite",
                                                         "comm.strategy",
                                                         "comm.bind",
                                                         "comm.timeout",
                                                         "memory.malloc",
                                                         "memory.huge_pages",
                                                         "memory.pretouch",
                                                         "checkpoint.every_epochs",
                                                         "checkpoint.every_steps",
                                                         "checkpoint.keep",
                                                         "checkpoint.job_end_margin"};

// Of each section what may differ: "run.threads, device, progress; data.path, ...".
std::string list_what_may_differ() {
  std::string text, section;
  for (const std::string_view key : kMayDiffer) {
    const std::size_t dot = key.find('.');
    const bool same = key.substr(0, dot) == section;
    section = key.substr(0, dot);
    text += text.empty() ? std::string(key)
            : same       ? ", " + std::string(key.substr(dot + 1))
                         : "; " + std::string(key);
  }
  return text;
}

// Throws the refusal of a key that would make another run.
[[noreturn]] void refuse(const std::string& message) {
  throw ConfigError(
      message,
      "resume with the stored deck (leave out --input), or start a new run in another --run-dir\n"
      "may change: " +
          list_what_may_differ());
}

}  // namespace

void require_same_deck(const std::string& stored_deck, const config::Config& now) {
  const config::Deck stored = config::parse_deck(stored_deck, "the checkpoint's deck");
  const config::Deck present = config::parse_deck(config::effective_deck(now), "the deck");
  for (const config::DeckEntry& entry : present.entries) {
    if (std::find(kMayDiffer.begin(), kMayDiffer.end(), entry.key) != kMayDiffer.end()) continue;
    const auto old = std::find_if(stored.entries.begin(), stored.entries.end(),
                                  [&](const config::DeckEntry& other) { return other.key == entry.key; });
    // A key that an older version did not know has its default there.
    if (old == stored.entries.end() || old->value == entry.value) continue;
    refuse(fmt::format("{} = {}: the run to resume has {} = {}, and changing it would make another run",
                       entry.key, entry.value, entry.key, old->value));
  }
}

void require_not_past(const config::TrainSection& section, const train::RunState& state) {
  const auto require = [](std::string_view key, std::int64_t asked, std::int64_t done) {
    if (asked >= done) return;
    throw ConfigError(
        fmt::format("{} = {}: the run to resume has already done {}", key, asked, done),
        fmt::format("give {} = {} or more: what has been trained cannot be taken back", key, done));
  };
  require("train.epochs", section.epochs, state.epoch);
  if (section.max_steps > 0) require("train.max_steps", section.max_steps, state.step);
}

void require_same_global_batch(std::int64_t asked, std::int64_t stored) {
  if (asked == stored) return;
  refuse(
      fmt::format("train.global_batch = {}: the run to resume has {}, and changing it would make another run",
                  asked, stored));
}

void adopt_global_batch(config::Config& config, std::int64_t global_batch, std::int64_t batch_per_rank,
                        bool same_world_size) {
  config.train.global_batch = global_batch;
  if (same_world_size) return;
  // As many passes as it takes on the ranks there are now, none larger than before.
  config.train.batch_per_rank = batch_per_rank;
  config.train.accumulate = 1;
}

std::string describe_layout(const std::vector<std::string>& hosts) {
  struct Stretch {
    std::size_t nodes, ranks;
  };
  std::vector<Stretch> stretches;
  for (std::size_t begin = 0, end = 0; begin < hosts.size(); begin = end) {
    while (end < hosts.size() && hosts[end] == hosts[begin])
      ++end;
    if (!stretches.empty() && stretches.back().ranks == end - begin) {
      ++stretches.back().nodes;
    } else {
      stretches.push_back({1, end - begin});
    }
  }
  std::vector<std::string> parts;
  for (const Stretch& stretch : stretches)
    parts.push_back(stretch.nodes == 1 ? fmt::format("{}", stretch.ranks)
                                       : fmt::format("{} x {}", stretch.nodes, stretch.ranks));
  return util::join(parts, " + ");
}

std::string name_processors(const std::vector<std::string>& of_ranks) {
  std::vector<std::string> kinds;
  for (const std::string& name : of_ranks)
    if (std::ranges::find(kinds, name) == kinds.end()) kinds.push_back(name);
  return util::join(kinds, " and ");
}

std::vector<std::string> inexact_because(const train::RunIdentity& stored, const train::RunIdentity& now) {
  std::vector<std::string> reasons;
  const auto compare = [&reasons](std::string_view what, const auto& before, const auto& present) {
    if (before != present) reasons.push_back(fmt::format("{} was {}, now {}", what, before, present));
  };
  compare("the number of ranks", stored.world_size, now.world_size);
  compare("the number of threads a rank", stored.threads, now.threads);
  compare("batch_per_rank", stored.batch_per_rank, now.batch_per_rank);
  compare("accumulate", stored.accumulate, now.accumulate);
  compare("the length of the training in steps", stored.total_steps, now.total_steps);
  compare("the strategy", stored.strategy, now.strategy);
  compare("the processor", stored.cpu, now.cpu);
  compare("the build", stored.build, now.build);
  if (stored.world_size == now.world_size) compare("the layout of ranks on nodes", stored.layout, now.layout);
  compare("the MPI library", stored.mpi, now.mpi);
  const auto known = [](std::int64_t value) { return value == 0 ? "not known" : std::to_string(value); };
  compare("train.eval_batch", known(stored.eval_batch), known(now.eval_batch));
  return reasons;
}

}  // namespace kolo::app
