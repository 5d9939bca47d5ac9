#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <variant>

#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"
#include "verify_parts.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// A metric file as read, or why it is damaged.
struct MetricFile {
  FileVerdict verdict;
  std::optional<MetricTable> table;
};

/// The lines that end in a line feed, and whether anything follows them.
struct Lines {
  std::vector<std::string> whole;
  bool rest = false;
};

Lines lines_of(std::string_view text) {
  Lines lines{util::split(text, '\n'), false};
  lines.rest = !lines.whole.back().empty();
  lines.whole.pop_back();
  return lines;
}

double csv_value(std::string_view field, std::size_t line) {
  if (field.empty()) return kMissing;
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size())
    throw CheckpointError(fmt::format("line {} has {}; expected a number", line, config::shown(field)));
  return value;
}

MetricTable parse_csv(const Lines& lines) {
  if (lines.whole.empty()) throw CheckpointError("has no header line");
  MetricTable table{util::split(lines.whole.front(), ','), {}};
  for (std::size_t i = 1; i < lines.whole.size(); ++i) {
    const std::vector<std::string> fields = util::split(lines.whole[i], ',');
    if (fields.size() != table.columns.size())
      throw CheckpointError(
          fmt::format("line {} has {} values; expected {}", i + 1, fields.size(), table.columns.size()));
    std::vector<double>& row = table.rows.emplace_back();
    for (const std::string& field : fields)
      row.push_back(csv_value(field, i + 1));
  }
  return table;
}

MetricTable parse_json_lines(const Lines& lines) {
  MetricTable table;
  for (std::size_t i = 0; i < lines.whole.size(); ++i) {
    const auto json = nlohmann::ordered_json::parse(lines.whole[i], nullptr, false);
    if (!json.is_object()) throw CheckpointError(fmt::format("line {} is not a JSON object", i + 1));
    std::vector<std::string> columns;
    std::vector<double>& row = table.rows.emplace_back();
    for (const auto& [name, value] : json.items()) {
      if (!value.is_number() && !value.is_null())
        throw CheckpointError(
            fmt::format("line {}: {} is neither a number nor null", i + 1, config::shown(name)));
      columns.push_back(name);
      row.push_back(value.is_null() ? kMissing : value.get<double>());
    }
    if (i == 0)
      table.columns = std::move(columns);
    else if (columns != table.columns)
      throw CheckpointError(fmt::format("line {} has other columns than line 1", i + 1));
  }
  return table;
}

MetricTable read_hdf5(const fs::path& path) {
  const KoloFile file = read_kolo_file(path);
  if (const auto* table = std::get_if<MetricTable>(&file.content)) return *table;
  throw CheckpointError("is a checkpoint; expected metrics");
}

MetricFile read_metric_file(const fs::path& run, const std::string& name, bool expected) {
  const fs::path path = run / name;
  if (!has_entry(path))
    return {{name, expected ? FileState::damaged : FileState::note, "is missing"}, std::nullopt};
  try {
    if (name == "metrics.h5") return {{name, FileState::ok, ""}, read_hdf5(path)};
    const Lines lines = lines_of(read_text(path));
    MetricFile file{{name, FileState::ok, ""},
                    name == "metrics.csv" ? parse_csv(lines) : parse_json_lines(lines)};
    if (lines.rest) file.verdict = {name, FileState::note, "its last line is not complete"};
    return file;
  } catch (const Error& error) {
    return {{name, FileState::damaged, without_path(error.what(), path)}, std::nullopt};
  }
}

/// JSON has neither NaN nor infinity, so that null stands for both.
bool same(double a, double b) { return std::isfinite(a) || std::isfinite(b) ? a == b : true; }

/// What differs in the columns of `expected`, over the rows both have.
std::optional<std::string> difference(const MetricTable& found, const MetricTable& expected,
                                      const std::string& expected_name) {
  const std::size_t rows = std::min(found.rows.size(), expected.rows.size());
  for (std::size_t i = 0; rows > 0 && i < expected.columns.size(); ++i) {
    const auto position = std::ranges::find(found.columns, expected.columns[i]);
    if (position == found.columns.end())
      return fmt::format("has no column {}, which {} has", config::shown(expected.columns[i]), expected_name);
    const auto j = static_cast<std::size_t>(position - found.columns.begin());
    for (std::size_t row = 0; row < rows; ++row)
      if (!same(found.rows[row].at(j), expected.rows[row].at(i)))
        return fmt::format("row {}: {} is {}; {} has {}", row + 1, config::shown(expected.columns[i]),
                           found.rows[row][j], expected_name, expected.rows[row][i]);
  }
  return std::nullopt;
}

/// Every row that the checkpoint carries must be there.
void compare_with_checkpoint(MetricFile& file, const NewestWhole& newest) {
  std::optional<std::string> what = difference(*file.table, newest.metrics, newest.name);
  if (!what && file.table->rows.size() < newest.metrics.rows.size())
    what = fmt::format("has {} rows; {} has {}", file.table->rows.size(), newest.name,
                       newest.metrics.rows.size());
  if (what) file.verdict = {file.verdict.name, FileState::damaged, *what};
}

/// `reference` is another file; rows that only one of them has are no contradiction.
void compare_with_file(MetricFile& file, const MetricFile& reference) {
  if (file.verdict.state == FileState::damaged) return;
  const std::string& other = reference.verdict.name;
  std::optional<std::string> what = difference(*file.table, *reference.table, other);
  // JSON lines without rows name no columns.
  const bool comparable = !file.table->rows.empty() && !reference.table->rows.empty();
  if (!what && comparable && file.table->columns.size() != reference.table->columns.size())
    what = fmt::format("has {} columns; {} has {}", file.table->columns.size(), other,
                       reference.table->columns.size());
  if (what) file.verdict = {file.verdict.name, FileState::damaged, *what};
}

/// A run that is ended while it adds a row leaves some files without it.
void note_rows(std::span<MetricFile> files) {
  std::size_t most = 0;
  for (const MetricFile& file : files)
    if (file.table) most = std::max(most, file.table->rows.size());
  for (MetricFile& file : files) {
    if (!file.table || file.verdict.state != FileState::ok) continue;
    const std::size_t rows = file.table->rows.size();
    file.verdict.what = fmt::format("{} row{}", rows, rows == 1 ? "" : "s");
    if (rows < most)
      file.verdict = {file.verdict.name, FileState::note,
                      fmt::format("has {} of {} rows: the last ones were not written to it", rows, most)};
  }
}

}  // namespace

std::vector<FileVerdict> verify_metrics(const fs::path& run, const std::optional<NewestWhole>& newest) {
  // The sealed file first: where two differ, it is the one whose checksum is right.
  std::vector<MetricFile> files;
  for (const char* name : {"metrics.h5", "metrics.csv", "metrics.jsonl"})
    files.push_back(read_metric_file(run, name, newest.has_value()));
  for (MetricFile& file : files)
    if (file.table && newest) compare_with_checkpoint(file, *newest);
  const auto reference = std::ranges::find_if(
      files, [](const MetricFile& file) { return file.table && file.verdict.state != FileState::damaged; });
  for (auto file = reference; file != files.end(); ++file)
    if (file != reference && file->table) compare_with_file(*file, *reference);
  note_rows(files);
  std::vector<FileVerdict> verdicts;
  for (MetricFile& file : files)
    verdicts.push_back(std::move(file.verdict));
  return verdicts;
}

}  // namespace kolo::io
