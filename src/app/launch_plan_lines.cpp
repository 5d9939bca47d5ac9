#include "kolo/app/launch_plan_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "kolo/config/choices.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kThreads = "run.threads";
constexpr std::string_view kGlobalBatch = "train.global_batch";

// The number a variable starts with ("16", "16(x2)", "16(x2),8"); `otherwise` without one.
int leading_number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc() && value > 0 ? value : otherwise;
}

Words launcher_words(const LaunchSite& site, const Combination& combination) {
  Words words = {std::string(config::name_of(site.launcher))};
  const auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (site.launcher == config::Launcher::srun) {
    if (site.one_of_many_nodes) add({"-N", "1"});
    add({"-n", std::to_string(combination.ranks)});
    add({"-c", std::to_string(combination.threads * site.cpus_per_core), "--cpu-bind=cores"});
    return words;
  }
  if (site.oversubscribe) add({"--oversubscribe"});
  if (site.stay_unbound) add({"--bind-to", "none"});
  add({"-n", std::to_string(combination.ranks)});
  return words;
}

// Deck and --set as they were given, but for `key`s value; a repeated key is an error.
void set_key(Words& sets, std::string_view key, std::int64_t value) {
  std::erase_if(sets, [key](const std::string& set) {
    return util::trim(std::string_view(set).substr(0, set.find('='))) == key;
  });
  sets.push_back(fmt::format("{}={}", key, value));
}

void add_deck(Words& words, const std::string& input, const Words& sets) {
  if (!input.empty()) words.insert(words.end(), {"--input", input});
  for (const std::string& set : sets)
    words.insert(words.end(), {"--set", set});
}

bool share_is_automatic(const LaunchSite& site, const config::LoadedConfig& loaded,
                        const Combination& combination) {
  return site.automatic_threads && loaded.config.run.threads == 0 &&
         loaded.config.comm.bind == config::Bind::automatic && site.cores % combination.ranks == 0;
}

}  // namespace

SlurmAllocation read_slurm_allocation() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr || *job == '\0') return {};
  return {true, leading_number("SLURM_CPUS_ON_NODE", leading_number("SLURM_JOB_CPUS_PER_NODE", 0)),
          leading_number("SLURM_JOB_NUM_NODES", 1)};
}

LaunchSite find_site(config::Launcher launcher, const comm::UsableCores& usable, double cpu_quota,
                     const SlurmAllocation& slurm) {
  LaunchSite site;
  site.launcher = launcher;
  site.cores = usable.mine;
  if (launcher == config::Launcher::srun) {
    if (!slurm.inside) {
      throw CommError("--launcher srun: not inside an allocation of Slurm's, SLURM_JOB_ID is not set",
                      "start kolo plan in a batch script, or after salloc");
    }
    site.one_of_many_nodes = slurm.nodes > 1;
    // The shell that salloc starts may be on another machine, whose own cores say nothing.
    const bool is_here = slurm.cpus == 0 || slurm.cpus == usable.threads;
    if (is_here && usable.mine > 0) site.cpus_per_core = std::max(1, usable.threads / usable.mine);
    if (!is_here) site.cores = slurm.cpus;
    return site;
  }
  site.oversubscribe = slurm.inside;  // its slots are Slurm's tasks, which may be fewer than the cores
  site.stay_unbound = usable.mine < usable.of_job;
  if (cpu_quota > 0 && cpu_quota < site.cores) {
    site.cores = std::max(1, static_cast<int>(cpu_quota));
    site.automatic_threads = false;
  }
  return site;
}

std::vector<std::string> job_words(const LaunchSite& site, const JobTemplate& job,
                                   const Combination& combination) {
  Words words = launcher_words(site, combination);
  words.insert(words.end(), {job.executable, "bench", "train"});
  Words sets = job.line.sets;
  if (job.fixed_batch > 0) set_key(sets, kGlobalBatch, job.fixed_batch);
  set_key(sets, kThreads, combination.threads);
  add_deck(words, job.line.input, sets);
  words.insert(words.end(),
               {"--steps", std::to_string(job.line.steps), "--warmup", std::to_string(job.line.warmup)});
  return words;
}

std::string advised_line(const LaunchSite& site, const std::string& program, const config::CommandLine& line,
                         const config::LoadedConfig& loaded, const Combination& combination) {
  Words words = launcher_words(site, combination);
  words.push_back(program);
  Words sets = line.sets;
  if (!share_is_automatic(site, loaded, combination)) set_key(sets, kThreads, combination.threads);
  const bool has_deck = !line.input.empty() || !line.sets.empty();
  add_deck(words, has_deck ? line.input : "deck.ini", sets);
  return shell_line(words);
}

std::string shell_line(std::span<const std::string> words) {
  std::vector<std::string> parts;
  std::ranges::transform(words, std::back_inserter(parts), util::shell_quoted);
  return util::join(parts, " ");
}

}  // namespace kolo::app
