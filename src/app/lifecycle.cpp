#include "kolo/app/lifecycle.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "kolo/app/banner.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/failure.hpp"
#include "kolo/app/signals.hpp"
#include "kolo/app/watch.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/slurm_job.hpp"
#include "kolo/config/option_table.hpp"
#include "kolo/io/run_directory.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/memory_policy.hpp"

namespace kolo::app {
namespace {

// What a run is configured by, as rank 0 found it.
struct DeckSources {
  config::DeckText deck;
  std::string stored;  // the deck in the newest checkpoint, for the keys that `deck` lacks
};

bool is_complete(const config::DeckText& deck) {
  config::Config any;
  return config::parse_deck(deck.text, deck.name).entries.size() == config::OptionTable(any).options().size();
}

// A resumed run needs no deck of its own: the one it was started with is in config.ini, and in every
// checkpoint.  What is missing in a file that was lost or cut must not become a default.
DeckSources find_decks(const config::CommandLine& line) {
  if (!line.input.empty()) return {config::read_deck_file(line.input), ""};
  if (line.resume == config::Resume::off || line.run_dir.empty()) return {};
  DeckSources found;
  const std::filesystem::path path = std::filesystem::path(line.run_dir) / "config.ini";
  std::error_code unknown;
  const bool exists = std::filesystem::exists(path, unknown);
  if (exists) found.deck = config::read_deck_file(path);
  if (exists && is_complete(found.deck)) return found;
  if (std::optional<std::string> stored = io::stored_deck(line.run_dir)) {
    util::log_warning(fmt::format("'{}' {}: {} taken from the newest checkpoint", path.string(),
                                  exists ? "lacks keys" : "is missing", exists ? "they are" : "the deck is"));
    found.stored = std::move(*stored);
    // A line that was cut may still be one that can be read, with another value.
    found.deck.text.resize(found.deck.text.rfind('\n') + 1);
  }
  return found;
}

void require_something_to_do(const config::CommandLine& line, const DeckSources& found) {
  const bool needs_deck = line.command == config::Command::train || line.command == config::Command::check;
  if (!needs_deck || !found.deck.name.empty() || !found.stored.empty() || !line.sets.empty()) return;
  throw ConfigError("nothing to do: no deck given",
                    "start with --input FILE (decks are in input/); kolo --help lists all options");
}

}  // namespace

void read_command_line(RunContext& run, int argc, char** argv) {
  if (argc > 0) run.program = argv[0];
  run.launch = comm::read_launch_environment();
  try {
    run.command_line = config::parse_command_line(argc, argv);
    // Only training looks at the flags; anything else ends as usual.
    if (run.command_line.command != config::Command::train) restore_signal_handlers();
    const bool trains = run.command_line.command == config::Command::train && !run.command_line.help &&
                        !run.command_line.version;
    if (trains && !run.launch.job_end && run.launch.rank.value_or(0) == 0)
      run.launch.job_end = comm::ask_slurm_for_job_end();
  } catch (...) {
    run.command_line_error = std::current_exception();
  }
}

// What a command is for must not get lost in silence on a disk that is full.
void require_output_written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw ConfigError("standard output cannot be written", "the disk it goes to may be full");
}

bool answer_without_mpi(const RunContext& run) {
  if (run.command_line_error) return false;
  const bool first = run.launch.rank.value_or(0) == 0;
  if (run.command_line.help) {
    if (first) std::fputs(config::help_text().c_str(), stdout);
    require_output_written();
    return true;
  }
  if (run.command_line.version) {
    if (first) std::fputs((version_text() + "\n").c_str(), stdout);
    require_output_written();
    return true;
  }
  return false;
}

std::optional<ExitCode> run_without_mpi(RunContext& run) {
  if (run.command_line_error) return std::nullopt;
  // Of many copies one looks at the file; kolo plan has words for being started by a launcher.
  const bool first = run.launch.rank.value_or(0) == 0;
  run.without_mpi = true;
  ExitCode code = ExitCode::finished;
  switch (run.command_line.command) {
    case config::Command::plan:
      code = plan_command(run);
      break;
    case config::Command::inspect:
      if (first) code = inspect_command(run);
      break;
    case config::Command::verify:
      if (first) code = verify_command(run);
      break;
    default:
      run.without_mpi = false;
      return std::nullopt;
  }
  require_output_written();
  return code;
}

void join_world(RunContext& run, int* argc, char*** argv) {
  run.mpi.emplace(comm::MpiSession::start(argc, argv));
  comm::require_joined_world(run.launch, run.world().size());
  util::enable_log(run.is_root());
  run.mpi->make_board();
  run.pulse = comm::Pulse(run.mpi->board().slot(run.mpi->node().rank()));
  explain_bus_errors(name_rank(run, run.world().rank()), run.mpi->board());
  comm::agree(run.world(), [&] {
    if (run.command_line_error) std::rethrow_exception(run.command_line_error);
  });
}

void load_deck(RunContext& run) {
  DeckSources found;
  comm::agree(run.world(), [&] {
    if (!run.is_root()) return;
    found = find_decks(run.command_line);
    require_something_to_do(run.command_line, found);
  });
  for (std::string* text : {&found.deck.name, &found.deck.text, &found.stored})
    *text = run.world().broadcast(*text, 0);
  run.deck_name = std::filesystem::path(found.deck.name).stem().string();
  comm::agree(run.world(), [&] {
    config::Config defaults;
    if (!found.stored.empty())
      defaults = config::load_config({}, config::DeckText{"the checkpoint's deck", found.stored}).config;
    run.loaded = config::load_config(
        run.command_line, found.deck.name.empty() ? std::nullopt : std::optional(found.deck), defaults);
  });
}

void prepare_machine(RunContext& run) {
  const config::MemorySection& memory = run.config().memory;
  run.memory = util::apply_memory_policy({.recycle = memory.malloc == config::Malloc::recycle,
                                          .huge_pages = memory.huge_pages == config::HugePages::automatic});
  if (memory.pretouch) run.memory += ", arena mapped before the first step";
  run.binding =
      comm::bind_cpus(run.mpi->node(), run.config().comm.bind, static_cast<int>(run.config().run.threads));
  at::set_num_threads(run.binding.threads);
  print_banner(run);
  if (run.command_line.command == config::Command::train) start_watchdog(run);
}

ExitCode run_command(RunContext& run) {
  const auto report = [&run](ExitCode code) {
    comm::agree(run.world(), require_output_written);
    return code;
  };
  switch (run.command_line.command) {
    case config::Command::train:
      return train_command(run);  // log.txt has what is printed
    case config::Command::check:
      return report(check_command(run));
    case config::Command::bench:
      return report(bench_command(run));
    case config::Command::doctor:
      return report(doctor_command(run));
    case config::Command::plan:
    case config::Command::inspect:
    case config::Command::verify:
      break;  // have run without MPI
  }
  throw Error(ExitCode::internal, "a subcommand without code");
}

}  // namespace kolo::app
