// A whole training in memory: synthetic data, a small model, no files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/data_sets.hpp"
#include "kolo/train/trainer.hpp"

namespace kolo::test {

/// Small images and an mlp; everything else as the defaults are.
config::Config small_config();

/// Remembers, at once, every step's mean loss and every row.
struct Recorder final : train::Observer, train::Keeper {
  /// The first step's loss is told from the sums of the steps before it.
  void begin_at(const train::RunState& state) { before_ = state.sums; }
  void step_done(const train::RunState& state, double lr) override;
  void epoch_done(const std::vector<double>& row, bool is_best) override;
  void save(std::function<io::CheckpointView()> make, std::int64_t step, bool is_best) override;
  void add_row(const std::vector<double>& row) override;
  void mark_best(std::int64_t step) override;
  io::Checkpoint load_best(std::int64_t step) override;
  void check() override {}
  void wait() override {}

  std::vector<double> losses;  ///< mean loss of each step
  std::vector<double> rates;
  std::vector<std::vector<double>> rows;
  std::vector<io::Checkpoint> checkpoints;

 private:
  train::Sums before_;
};

/// The value of a column in a metrics row.
double column(const std::vector<double>& row, const std::string& name);

/// One training over the ranks of `world`.
class Training {
 public:
  Training(config::Config config, MPI_Comm parent, at::MemoryFormat format = at::MemoryFormat::Contiguous);
  ~Training();
  /// `keeper`: instead of the recorder, on rank 0.
  train::Outcome run(const io::Checkpoint* resume_from = nullptr, train::StopPoll poll = {},
                     train::Keeper* keeper = nullptr);
  train::Replica& replica() { return *replica_; }
  const data::DataSets& data() const { return data_; }
  const comm::Communicator& world() const { return world_; }
  const train::Geometry& geometry() const { return *geometry_; }

  Recorder recorder;  ///< filled in on rank 0

 private:
  config::Config config_;
  comm::Communicator world_;
  comm::Communicator node_;
  data::DataSets data_;
  std::unique_ptr<train::Geometry> geometry_;
  std::unique_ptr<train::Replica> replica_;
};

/// A new network with the initial weights that every Training of this config starts from.
std::shared_ptr<model::Network> initial_network(const config::Config& config, const data::Dataset& set);

}  // namespace kolo::test
