#include "kolo/app/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

constexpr double kBarSeconds = 0.1;
constexpr std::size_t kBarWidth = 24;

bool parent_is_mpi_launcher(const std::string& process) {
  std::ifstream file(process + "/comm");
  std::string name;
  std::getline(file, name);
  constexpr std::array<std::string_view, 5> kLaunchers = {"mpirun", "mpiexec", "orterun", "prterun", "prun"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
}

bool is_terminal(const std::string& descriptor_link) {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(descriptor_link, error).string();
  return !error && (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty"));
}

std::string percent(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.2f} %", 100 * fraction);
}

std::string loss_text(double loss) { return std::isnan(loss) ? "-" : fmt::format("{:.4f}", loss); }

}  // namespace

config::Progress choose_progress(config::Progress asked, const comm::LaunchEnvironment& launch) {
  if (asked != config::Progress::automatic) return asked;
  bool terminal = isatty(STDOUT_FILENO) != 0;
  if (launch.tasks) {
    const std::string parent = fmt::format("/proc/{}", getppid());
    terminal = parent_is_mpi_launcher(parent) && is_terminal(parent + "/fd/1");
  }
  return terminal ? config::Progress::bar : config::Progress::plain;
}

ProgressPrinter::ProgressPrinter(const config::Config& config, const train::Geometry& geometry,
                                 config::Progress style)
    : style_(style),
      seconds_between_(style == config::Progress::bar ? kBarSeconds : config.run.progress_seconds),
      epochs_(config.train.epochs),
      steps_per_epoch_(geometry.steps_per_epoch()),
      total_steps_(train::total_steps(config.train, geometry.steps_per_epoch())),
      global_batch_(geometry.global_batch()),
      has_validation_(config.data.val_fraction > 0) {}

ProgressPrinter::~ProgressPrinter() { clear_bar(); }

std::string ProgressPrinter::line(const train::RunState& state, double lr) const {
  // Steps a second of this epoch's training: evaluation and checkpoints are not steps.
  const double rate = static_cast<double>(state.step_in_epoch) / state.train_seconds;
  const double left = static_cast<double>(total_steps_ - state.step) / rate;
  return fmt::format("epoch {}/{}  step {}/{}  loss {}  top1 {}  lr {:.3g}  {:.0f} samples/s  {} left",
                     state.epoch + 1, epochs_, state.step_in_epoch, steps_per_epoch_,
                     loss_text(state.sums.mean_loss()), percent(state.sums.top1_fraction()), lr,
                     rate * static_cast<double>(global_batch_), util::format_duration(left));
}

void ProgressPrinter::step_done(const train::RunState& state, double lr) {
  if (style_ == config::Progress::none) return;
  const bool bar_missing = style_ == config::Progress::bar && !bar_shown_;
  if (!bar_missing && since_line_.seconds() < seconds_between_) return;
  since_line_.lap();
  if (style_ == config::Progress::plain) {
    util::log(line(state, lr));
    return;
  }
  const auto done =
      kBarWidth * static_cast<std::size_t>(state.step_in_epoch) / static_cast<std::size_t>(steps_per_epoch_);
  const std::string bar = std::string(done, '#') + std::string(kBarWidth - done, '.');
  std::fputs(fmt::format("\r\x1b[K[{}] {}", bar, line(state, lr)).c_str(), stdout);
  std::fflush(stdout);
  bar_shown_ = true;
}

void ProgressPrinter::epoch_done(const std::vector<double>& row, bool is_best) {
  clear_bar();
  const auto& columns = train::metric_columns();
  const auto value = [&](std::string_view name) {
    return row[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin())];
  };
  std::string text = fmt::format("epoch {}/{}  train loss {} top1 {}", value("epoch"), epochs_,
                                 loss_text(value("train_loss")), percent(value("train_top1")));
  if (has_validation_) {
    text += fmt::format("  validation loss {} top1 {}{}", loss_text(value("val_loss")),
                        percent(value("val_top1")), is_best ? " (best)" : "");
  }
  text +=
      fmt::format("  {}  {:.0f} samples/s", util::format_duration(value("seconds")), value("samples_per_s"));
  if (value("skipped_steps") > 0) text += fmt::format("  {} steps skipped", value("skipped_steps"));
  util::log(text);
  since_line_.lap();
}

void ProgressPrinter::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", stdout);
  std::fflush(stdout);
  bar_shown_ = false;
}

}  // namespace kolo::app
