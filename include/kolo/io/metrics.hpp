// What a run measured, one row an epoch, in the formats people read: CSV, JSON lines and HDF5.
//
// The table in memory is the truth; checkpoints carry it, and the three files of a run directory are made
// from it. Invariant: after rewrite() and any number of append() the files hold exactly the rows of table(),
// once each, so a resumed run repeats nothing.  CSV and JSON lines grow by whole lines (a reader may follow
// them); metrics.h5 is replaced whole.  A missing value is NaN in the table and in HDF5, an empty field in
// CSV, null in JSON.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kolo::io {

struct MetricTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  ///< each of columns.size() values

  bool operator==(const MetricTable&) const = default;
};

/// metrics.csv, metrics.jsonl and metrics.h5 of one run directory.  Used by one thread at a time, on rank 0.
class MetricFiles {
 public:
  /// Touches no file yet.  Throws Error (internal) for names that are empty, repeated or not [A-Za-z0-9_.-]+.
  MetricFiles(const std::filesystem::path& directory, std::vector<std::string> columns);

  /// Replaces all three files by `table`, whose columns are matched by name: those it lacks are missing,
  /// further ones are kept after the own ones.  Throws CheckpointError.
  void rewrite(const MetricTable& table);
  /// Adds one row, with a value for each column given to the constructor.  Throws CheckpointError if a file
  /// cannot be written; a partly written line is taken back.
  void append(std::span<const double> row);

  /// What the files hold.
  const MetricTable& table() const { return table_; }

 private:
  std::filesystem::path csv_;
  std::filesystem::path jsonl_;
  std::filesystem::path hdf5_;
  std::size_t own_columns_;
  MetricTable table_;
};

/// An integer without decimal point, else the shortest digits that read back as the same fp64.
std::string format_number(double value);

/// The table as metrics.csv and metrics.jsonl hold it.
std::string to_csv(const MetricTable& table);
std::string to_json_lines(const MetricTable& table);
/// The table as metrics.h5 holds it: one 1-D fp64 data set a column, the root's attribute "columns" giving
/// their order.  Throws CheckpointError.
void write_metrics_hdf5(const std::filesystem::path& path, const MetricTable& table);

}  // namespace kolo::io
