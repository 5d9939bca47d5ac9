#include "kolo/io/metrics.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>

#include "kolo/io/atomic_file.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Plain names need no quoting in CSV or JSON and are one link in HDF5.
void check_column_names(std::span<const std::string> columns) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  std::set<std::string_view> seen;
  for (const std::string& name : columns) {
    const bool plain = !name.empty() && name != "." && name.find_first_not_of(kAllowed) == std::string::npos;
    if (!plain || !seen.insert(name).second)
      throw Error(
          ExitCode::internal,
          fmt::format("metric column '{}' is repeated or not a plain name (letters, digits, _ . -)", name));
  }
}

std::string csv_line(std::span<const double> row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    if (!std::isnan(row[i])) line += format_number(row[i]);
  }
  return line + '\n';
}

std::string json_line(std::span<const std::string> columns, std::span<const double> row) {
  std::string line = "{";
  for (std::size_t i = 0; i < row.size(); ++i)
    line += fmt::format("{}\"{}\": {}", i > 0 ? ", " : "", columns[i],
                        std::isfinite(row[i]) ? format_number(row[i]) : "null");
  return line + "}\n";
}

void append_line(const std::filesystem::path& path, std::string_view line) {
  Descriptor file = open_descriptor(path, O_WRONLY | O_APPEND);
  const off_t size = file ? ::lseek(file.get(), 0, SEEK_END) : -1;
  if (size < 0) throw_write_error("cannot append to", path, errno, 0, line.size());
  const Transfer transfer = write_all(file.get(), std::as_bytes(std::span(line.data(), line.size())));
  int error = transfer.error;
  // Half a line would spoil the file for every reader; the error thrown next covers a failure of this as
  // well.
  if (error != 0 && ::ftruncate(file.get(), size) != 0) error = errno;
  if (error == 0) error = file.close();
  if (error != 0) throw_write_error("cannot append to", path, error, transfer.done, line.size());
}

/// `table` with `columns` first and those of its own that are not among them behind.
MetricTable arrange(const MetricTable& table, std::vector<std::string> columns) {
  for (const std::string& name : table.columns)
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  MetricTable result{std::move(columns), {}};
  for (const std::vector<double>& row : table.rows) {
    std::vector<double>& arranged = result.rows.emplace_back(result.columns.size(), kMissing);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto position = std::find(result.columns.begin(), result.columns.end(), table.columns[i]);
      arranged[static_cast<std::size_t>(position - result.columns.begin())] = row.at(i);
    }
  }
  return result;
}

}  // namespace

std::string format_number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: up to here an fp64 integer is that integer
  if (std::abs(value) <= kExact && value == std::floor(value))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string to_csv(const MetricTable& table) {
  std::string text = util::join(table.columns, ",") + '\n';
  for (const std::vector<double>& row : table.rows)
    text += csv_line(row);
  return text;
}

std::string to_json_lines(const MetricTable& table) {
  std::string text;
  for (const std::vector<double>& row : table.rows)
    text += json_line(table.columns, row);
  return text;
}

void write_metrics_hdf5(const std::filesystem::path& path, const MetricTable& table) {
  const Hdf5Image image = [&] {
    const Hdf5Lock lock;
    const std::size_t bytes = table.columns.size() * table.rows.size() * sizeof(double);
    Hdf5File file = create_memory_file(bytes, kUserBlockBytes);
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(table.rows.size())};
    std::vector<double> values(table.rows.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      std::transform(table.rows.begin(), table.rows.end(), values.begin(),
                     [i](const std::vector<double>& row) { return row.at(i); });
      write_array(file.id(), table.columns[i], DType::f64, shape, std::as_bytes(std::span(values)));
    }
    write_attribute(file.id(), "columns", table.columns);
    return Hdf5Image(std::move(file));
  }();
  write_sealed(path, image.bytes());
}

MetricFiles::MetricFiles(const std::filesystem::path& directory, std::vector<std::string> columns)
    : csv_(directory / "metrics.csv"),
      jsonl_(directory / "metrics.jsonl"),
      hdf5_(directory / "metrics.h5"),
      own_columns_(columns.size()),
      table_{std::move(columns), {}} {
  check_column_names(table_.columns);
}

void MetricFiles::rewrite(const MetricTable& table) {
  std::vector<std::string> own(table_.columns.begin(),
                               table_.columns.begin() + static_cast<std::ptrdiff_t>(own_columns_));
  MetricTable arranged = arrange(table, std::move(own));
  check_column_names(arranged.columns);
  write_atomically(csv_, to_csv(arranged));
  write_atomically(jsonl_, to_json_lines(arranged));
  write_metrics_hdf5(hdf5_, arranged);
  table_ = std::move(arranged);
}

void MetricFiles::append(std::span<const double> row) {
  if (row.size() != own_columns_)
    throw Error(ExitCode::internal,
                fmt::format("a metric row has {} values; expected {}", row.size(), own_columns_));
  std::vector<double>& added = table_.rows.emplace_back(row.begin(), row.end());
  added.resize(table_.columns.size(), kMissing);
  if (!std::filesystem::exists(csv_) || !std::filesystem::exists(jsonl_)) {
    // Somebody moved a file away: all rows again are better than a file without header and past.
    rewrite(MetricTable(table_));
    return;
  }
  append_line(csv_, csv_line(added));
  append_line(jsonl_, json_line(table_.columns, added));
  write_metrics_hdf5(hdf5_, table_);
}

}  // namespace kolo::io
