// `kolo inspect`: what a checkpoint or a metrics.h5 holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "inspect_json.hpp"
#include "kolo/app/commands.hpp"
#include "kolo/app/json_file.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/io/inspect.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

std::string line(std::string_view topic, const std::string& text) {
  return fmt::format("  {:<12}{}", topic, text);
}

std::string bytes(std::int64_t count) { return util::format_bytes(static_cast<double>(count)); }

/// "12", or "unknown" where the checkpoint does not say.
template <class T>
std::string known(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string("unknown");
}

/// Counts in full, measured values with as many digits as people read.
std::string rounded(double value) {
  if (std::isnan(value)) return "-";
  return value == std::floor(value) ? io::format_number(value) : fmt::format("{:.6g}", value);
}

std::string position(const io::ProgressFacts& progress) {
  std::string text =
      fmt::format("after step {}: epochs completed {}", known(progress.step), known(progress.epoch));
  if (progress.step_in_epoch.value_or(0) > 0)
    text += fmt::format(", then {} steps ({} samples) of the next", *progress.step_in_epoch,
                        known(progress.sample_offset));
  return text;
}

std::string best(const io::ProgressFacts& progress) {
  if (progress.best_epoch.value_or(0) == 0) return "none yet";
  std::string text = fmt::format("epoch {}, step {}", *progress.best_epoch, known(progress.best_step));
  // Without validation the latest model is the best, and the value stays negative.
  if (progress.best_val_top1.value_or(-1) >= 0) text += ", val_top1 " + rounded(*progress.best_val_top1);
  return text;
}

void add_progress(const io::ProgressFacts& progress, Lines& lines) {
  lines.push_back(line("position", position(progress)));
  lines.push_back(line("run", fmt::format("ranks {}, threads a rank {}, global batch {}, strategy {}",
                                          known(progress.world_size), known(progress.threads),
                                          known(progress.global_batch), known(progress.strategy))));
  lines.push_back(line("processor", known(progress.processor)));
  lines.push_back(line("build", known(progress.build)));
  lines.push_back(line("best", best(progress)));
}

void add_deck(const std::string& text, Lines& lines) {
  const DeckSummary deck = summarize_deck(text);
  if (!deck.error.empty()) {
    lines.push_back(line("deck", "not understood by this kolo: " + deck.error));
    return;
  }
  std::string summary = fmt::format("{} keys", deck.keys);
  for (const auto& [key, value] : deck.shown)
    summary += fmt::format(", {} = {}", key, value);
  lines.push_back(line("deck", summary));
}

void add_groups(const std::vector<io::GroupFacts>& groups, Lines& lines) {
  lines.push_back(fmt::format("  {:<24} {:>8} {:>14} {:>11}", "group", "tensors", "elements", "size"));
  for (const io::GroupFacts& group : groups)
    lines.push_back(fmt::format("  {:<24} {:>8} {:>14} {:>11}", group.name, group.tensors,
                                util::format_count(group.elements), bytes(group.bytes)));
}

void add_metrics(const io::MetricTable& table, Lines& lines) {
  lines.push_back(
      line("metrics", fmt::format("columns {}, rows {}", table.columns.size(), table.rows.size())));
  if (table.rows.empty()) {
    lines.push_back(line("", "columns: " + util::join(table.columns, ", ")));
    return;
  }
  constexpr std::size_t kPerLine = 5;
  Lines values;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    values.push_back(table.columns[i] + ' ' + rounded(table.rows.back().at(i)));
  for (std::size_t begin = 0; begin < values.size(); begin += kPerLine) {
    const auto part = std::span(values).subspan(begin, std::min(kPerLine, values.size() - begin));
    lines.push_back(line(begin == 0 ? "last row" : "", util::join(part, ", ")));
  }
}

std::string shape(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  return "[" + text + "]";
}

std::string number(const std::optional<io::ElementValue>& value) {
  if (!value) return "-";
  if (const auto* integer = std::get_if<std::int64_t>(&*value)) return fmt::format("{}", *integer);
  return rounded(std::get<double>(*value));
}

void add_tensors(const std::vector<io::TensorFacts>& tensors, Lines& lines) {
  constexpr const char* kFormat = "  {:<40} {:<6} {:<18} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10}";
  lines.push_back(fmt::format(kFormat, "tensor", "type", "shape", "elements", "min", "max", "mean", "zeros",
                              "non-finite"));
  for (const io::TensorFacts& tensor : tensors) {
    const auto mean = tensor.mean ? std::optional<io::ElementValue>(*tensor.mean) : std::nullopt;
    lines.push_back(fmt::format(kFormat, tensor.path, name_of(tensor.type), shape(tensor.shape),
                                util::format_count(tensor.elements), number(tensor.min), number(tensor.max),
                                number(mean), util::format_count(tensor.zeros),
                                util::format_count(tensor.non_finite)));
  }
}

Lines describe_checkpoint(const io::KoloFile& file, const io::CheckpointFile& checkpoint,
                          const std::vector<io::TensorFacts>& tensors) {
  const io::FormatFacts& format = checkpoint.format;
  Lines lines = {
      line("checkpoint", fmt::format("whole, {}; format version {}, written by {}, {}",
                                     bytes(static_cast<std::int64_t>(file.bytes)), format.version,
                                     format.creator.empty() ? "an unknown program" : format.creator,
                                     format.created.empty() ? "at an unknown time" : format.created))};
  add_progress(io::progress_of(checkpoint.content), lines);
  add_deck(checkpoint.content.config, lines);
  add_metrics(checkpoint.content.metrics, lines);
  add_groups(io::groups_of(checkpoint.content), lines);
  if (!tensors.empty()) add_tensors(tensors, lines);
  return lines;
}

Lines describe(const io::KoloFile& file, const std::vector<io::TensorFacts>& tensors) {
  if (const auto* checkpoint = std::get_if<io::CheckpointFile>(&file.content))
    return describe_checkpoint(file, *checkpoint, tensors);
  Lines lines = {line("metrics.h5", fmt::format("whole, {}", bytes(static_cast<std::int64_t>(file.bytes))))};
  add_metrics(std::get<io::MetricTable>(file.content), lines);
  return lines;
}

/// The report must not replace what it reports on.
void require_another_file(const std::string& inspected, const std::string& json) {
  std::error_code unknown;
  if (fs::equivalent(inspected, json, unknown))
    throw ConfigError(fmt::format("--json {}: is the file to look at; expected another one", json));
}

io::KoloFile read_or_report(const std::string& path, const std::string& json) {
  try {
    return io::read_kolo_file(path);
  } catch (const CheckpointError& error) {
    if (!json.empty()) write_report(json, damaged_json(path, error));
    throw;
  }
}

}  // namespace

ExitCode inspect_command(const RunContext& run) {
  const std::string& path = run.command_line.operand;
  const std::string& json = run.command_line.json;
  util::enable_log(true);
  if (!json.empty()) {
    require_another_file(path, json);
    require_writable(json);
  }
  const io::KoloFile file = read_or_report(path, json);
  std::vector<io::TensorFacts> tensors;
  const auto* checkpoint = std::get_if<io::CheckpointFile>(&file.content);
  if (run.command_line.tensors && checkpoint != nullptr) tensors = io::tensors_of(checkpoint->content);
  util::log(config::printable(path));
  // Names come from the file, which may be anybody's.
  for (const std::string& text : describe(file, tensors))
    util::log(config::printable(text));
  if (!json.empty())
    write_report(json, inspect_json(path, file, run.command_line.tensors ? &tensors : nullptr));
  return ExitCode::finished;
}

}  // namespace kolo::app
