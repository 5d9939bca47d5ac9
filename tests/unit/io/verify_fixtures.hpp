// A run directory as a finished run leaves it, for tests that then spoil it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.hpp"
#include "kolo/config/config.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/io/atomic_file.hpp"
#include "kolo/io/verify.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {

inline Checkpoint checkpoint_of(std::int64_t step, std::int64_t best_step, const MetricTable& metrics) {
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.config = config::effective_deck({});
  checkpoint.progress = {{"step", step}, {"epoch", step / 10}, {"best_step", best_step}};
  checkpoint.metrics = metrics;
  return checkpoint;
}

/// Rows of epochs 1, 2, ..., one of whose values is missing.
inline MetricTable rows_until(int epochs) {
  MetricTable table{{"epoch", "step", "train_loss", "val_loss"}, {}};
  for (int epoch = 1; epoch <= epochs; ++epoch)
    table.rows.push_back({1.0 * epoch, 10.0 * epoch, 1.0 / (3 * epoch), std::nan("")});
  return table;
}

/// Checkpoints of steps 10 and 20, epochs 1 and 2; the best is step 10.
class SampleRun {
 public:
  SampleRun() {
    std::filesystem::create_directories(path() / "checkpoints");
    kolo::test::write_file(path() / "config.ini", config::effective_deck({}));
    write_metrics(rows_until(2));
    for (const std::int64_t step : {10, 20})
      write_checkpoint(checkpoint(step), checkpoint_of(step, 10, rows_until(static_cast<int>(step) / 10)));
    link("last.h5", 20);
    link("best.h5", 10);
    kolo::test::write_file(path() / "summary.json", R"({"reason": "completed", "exit_code": 0})");
  }

  std::filesystem::path path() const { return directory_ / "run"; }
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
  std::filesystem::path checkpoint(std::int64_t step) const {
    return path() / "checkpoints" / ("step_0000000" + std::to_string(step) + ".h5");
  }
  void write_metrics(const MetricTable& table) const { MetricFiles(path(), table.columns).rewrite(table); }
  void link(const std::string& name, std::int64_t step) const {
    atomic_symlink(checkpoint(step), path() / "checkpoints" / name);
  }
  /// Changes one byte in the middle.
  void damage(const std::filesystem::path& file) const {
    std::string bytes = kolo::test::read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    kolo::test::write_file(file, bytes);
  }
  RunVerdict verify() const { return verify_run(path()); }

  /// "<state>: <what>" of one file; empty if the verdict does not mention it.
  std::string verdict_on(const std::string& name) const {
    for (const FileVerdict& file : verify().files)
      if (file.name == name) return name_of(file.state) + ": " + file.what;
    return {};
  }
  /// Names of all damaged files.
  std::vector<std::string> damaged() const {
    std::vector<std::string> names;
    for (const FileVerdict& file : verify().files)
      if (file.state == FileState::damaged) names.push_back(file.name);
    return names;
  }

 private:
  kolo::test::TempDir directory_;
};

}  // namespace kolo::io::test
