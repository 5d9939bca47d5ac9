// What a snapshot says, against libtorch's own idea of logical order.
#include <gtest/gtest.h>

#include <cstring>

#include "kolo/train/snapshot.hpp"
#include "kolo/train/tensor_bytes.hpp"
#include "trainer_fixture.hpp"

namespace kolo::test {
namespace {

void expect_tensor(const io::TensorView& view, const at::Tensor& tensor) {
  const at::Tensor logical = tensor.detach().contiguous();
  EXPECT_EQ(view.shape, logical.sizes().vec()) << view.name;
  EXPECT_EQ(view.type, train::dtype_of(logical)) << view.name;
  ASSERT_EQ(view.data.size(), logical.nbytes()) << view.name;
  EXPECT_EQ(std::memcmp(view.data.data(), logical.const_data_ptr(), view.data.size()), 0) << view.name;
}

/// A network with convolutions and batch norm after a few steps, so that all states hold something.
class SnapshotTest : public testing::TestWithParam<std::tuple<config::Dtype, at::MemoryFormat>> {};
INSTANTIATE_TEST_SUITE_P(TypesAndFormats, SnapshotTest,
                         testing::Combine(testing::Values(config::Dtype::fp32, config::Dtype::fp64),
                                          testing::Values(at::MemoryFormat::Contiguous,
                                                          at::MemoryFormat::ChannelsLast)));

TEST_P(SnapshotTest, HoldsEveryTensorInLogicalOrder) {
  const auto [dtype, format] = GetParam();
  config::Config config = small_config();
  config.model.name = "resnet18";
  config.model.stem = config::Stem::cifar;
  config.data.channels = 3;
  config.data.samples = 40;
  config.data.val_fraction = 0;
  config.data.test_samples = 0;
  config.data.height = config.data.width = 8;
  config.train.global_batch = 20;
  config.train.epochs = 1;
  config.run.dtype = dtype;
  config.optimizer.name = config::OptimizerName::adam;
  Training training(config, MPI_COMM_WORLD, format);
  training.run();
  const train::Replica& replica = training.replica();

  train::Snapshot snapshot;
  snapshot.capture(replica);
  // Whatever happens to the model now is none of the snapshot's business.
  std::vector<std::pair<std::string, at::Tensor>> parameters, buffers;
  for (const auto& item : replica.network().named_parameters())
    parameters.emplace_back(item.key(), item.value().detach().clone());
  for (const auto& item : replica.network().named_buffers())
    buffers.emplace_back(item.key(), item.value().detach().clone());
  std::vector<std::vector<at::Tensor>> states;
  for (std::byte* state : replica.exchange().memory().states) {
    std::vector<at::Tensor>& tensors = states.emplace_back();
    for (std::size_t i = replica.plan().slots.size(); i-- > 0;)
      tensors.push_back(replica.arena().view(i, state).clone());
  }
  training.world().barrier();  // the memory may be shared
  if (training.world().rank() == 0)
    for (const auto& item : replica.network().named_parameters())
      item.value().detach().zero_();
  training.world().barrier();

  const io::CheckpointView view = snapshot.view();
  ASSERT_EQ(view.model.size(), parameters.size());
  ASSERT_EQ(view.buffers.size(), buffers.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(view.model[i].name, parameters[i].first);
    expect_tensor(view.model[i], parameters[i].second);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(view.buffers[i].name, buffers[i].first);
    expect_tensor(view.buffers[i], buffers[i].second);
  }
  const std::vector<std::string> names = replica.optimizer().state_names();
  ASSERT_EQ(view.optimizer.size(), names.size());
  for (std::size_t s = 0; s < names.size(); ++s)
    for (std::size_t i = 0; i < parameters.size(); ++i)
      expect_tensor(view.optimizer.at(names[s])[i], states[s][i]);
}

/// Saves nothing before the trainer is gone.
struct LateKeeper final : train::Keeper {
  void save(std::function<io::CheckpointView()> make, std::int64_t /*step*/, bool /*is_best*/) override {
    last = std::move(make);
  }
  void add_row(const std::vector<double>& /*row*/) override {}
  void mark_best(std::int64_t /*step*/) override {}
  io::Checkpoint load_best(std::int64_t /*step*/) override { return {}; }
  void check() override {}
  void wait() override {}
  std::function<io::CheckpointView()> last;
};

TEST(Snapshot, OutlivesTheTrainerThatTookIt) {
  config::Config config = small_config();
  config.data.test_samples = 0;
  LateKeeper keeper;
  Training training(config, MPI_COMM_WORLD);
  training.run(nullptr, {}, &keeper);
  if (training.world().rank() != 0) return;
  const io::CheckpointView view = keeper.last();
  std::size_t i = 0;
  for (const auto& item : training.replica().network().named_parameters())
    expect_tensor(view.model.at(i++), item.value());
}

}  // namespace
}  // namespace kolo::test
