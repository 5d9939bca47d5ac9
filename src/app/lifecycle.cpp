#include "kolo/app/lifecycle.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "kolo/app/banner.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/signals.hpp"
#include "kolo/app/watch.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/comm/slurm_job.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/memory_policy.hpp"

namespace kolo::app {
namespace {

// A resumed run needs no deck of its own: the one it was started with is in the run directory.
std::string deck_to_read(const config::CommandLine& line) {
  if (!line.input.empty()) return line.input;
  if (line.resume == config::Resume::off || line.run_dir.empty()) return "";
  const std::filesystem::path stored = std::filesystem::path(line.run_dir) / "config.ini";
  return std::filesystem::exists(stored) ? stored.string() : "";
}

void require_something_to_do(const config::CommandLine& line, const std::string& deck) {
  const bool needs_deck = line.command == config::Command::train || line.command == config::Command::check;
  if (!needs_deck || !deck.empty() || !line.sets.empty()) return;
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

bool answer_without_mpi(const RunContext& run) {
  if (run.command_line_error) return false;
  const bool first = run.launch.rank.value_or(0) == 0;
  if (run.command_line.help) {
    if (first) std::fputs(config::help_text().c_str(), stdout);
    return true;
  }
  if (run.command_line.version) {
    if (first) std::fputs((version_text() + "\n").c_str(), stdout);
    return true;
  }
  return false;
}

std::optional<ExitCode> run_without_mpi(RunContext& run) {
  if (run.command_line_error) return std::nullopt;
  run.without_mpi = true;
  const bool first = run.launch.rank.value_or(0) == 0;
  switch (run.command_line.command) {
    case config::Command::plan:
      return plan_command(run);
    // Of many copies one looks at the file.
    case config::Command::inspect:
      return first ? inspect_command(run) : ExitCode::finished;
    case config::Command::verify:
      return first ? verify_command(run) : ExitCode::finished;
    default:
      run.without_mpi = false;
      return std::nullopt;
  }
}

void join_world(RunContext& run, int* argc, char*** argv) {
  run.mpi.emplace(comm::MpiSession::start(argc, argv));
  comm::require_joined_world(run.launch, run.world().size());
  util::enable_log(run.is_root());
  run.mpi->make_board();
  run.pulse = comm::Pulse(run.mpi->board().slot(run.mpi->node().rank()));
  comm::agree(run.world(), [&] {
    if (run.command_line_error) std::rethrow_exception(run.command_line_error);
  });
}

void load_deck(RunContext& run) {
  config::DeckText deck;
  comm::agree(run.world(), [&] {
    if (!run.is_root()) return;
    const std::string path = deck_to_read(run.command_line);
    require_something_to_do(run.command_line, path);
    if (!path.empty()) deck = config::read_deck_file(path);
  });
  deck.name = run.world().broadcast(deck.name, 0);
  deck.text = run.world().broadcast(deck.text, 0);
  run.deck_name = std::filesystem::path(deck.name).stem().string();
  comm::agree(run.world(), [&] {
    run.loaded = config::load_config(
        run.command_line, deck.name.empty() ? std::nullopt : std::optional<config::DeckText>(deck));
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
  switch (run.command_line.command) {
    case config::Command::train:
      return train_command(run);
    case config::Command::check:
      return check_command(run);
    case config::Command::bench:
      return bench_command(run);
    case config::Command::doctor:
      return doctor_command(run);
    case config::Command::plan:
    case config::Command::inspect:
    case config::Command::verify:
      break;  // have run without MPI
  }
  throw Error(ExitCode::internal, "a subcommand without code");
}

}  // namespace kolo::app
