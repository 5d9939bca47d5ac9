#include "kolo/io/inspect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/sealed_file.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

using kolo::test::read_file;
using kolo::test::TempDir;
using kolo::test::write_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
TensorFacts facts(const std::vector<T>& values) {
  return facts_of("/model/a", tensor<T>("a", {static_cast<std::int64_t>(values.size())}, values));
}

TEST(Inspect, ACheckpointIsReadWithItsFormat) {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  const KoloFile file = read_kolo_file(dir / "a.h5");
  EXPECT_EQ(file.bytes, std::filesystem::file_size(dir / "a.h5"));
  const auto& checkpoint = std::get<CheckpointFile>(file.content);
  EXPECT_EQ(checkpoint.content, sample_checkpoint());
  EXPECT_EQ(checkpoint.format.version, kCheckpointVersion);
  EXPECT_EQ(checkpoint.format.creator, "kolo");
  EXPECT_THAT(checkpoint.format.created, MatchesRegex("[0-9-]+T[0-9:]+Z"));
}

TEST(Inspect, MetricsAreReadAsTheyWereWritten) {
  const TempDir dir;
  const MetricTable table{{"epoch", "val_loss", "a"}, {{1, 0.1, 3}, {2, 1.0 / 3, -0.5}}};
  write_metrics_hdf5(dir / "metrics.h5", table);
  EXPECT_EQ(std::get<MetricTable>(read_kolo_file(dir / "metrics.h5").content), table);
  write_metrics_hdf5(dir / "metrics.h5", {{"epoch", "lr"}, {}});
  EXPECT_EQ(std::get<MetricTable>(read_kolo_file(dir / "metrics.h5").content).columns.size(), 2U);
}

TEST(Inspect, AFlippedBitOfMetricsIsNoticed) {
  const TempDir dir;
  write_metrics_hdf5(dir / "metrics.h5", {{"epoch", "lr"}, {{1, 0.5}}});
  const std::string bytes = read_file(dir / "metrics.h5");
  for (std::size_t position = 0; position < bytes.size(); position += 97) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 4);
    write_file(dir / "metrics.h5", damaged);
    EXPECT_THAT(message_of<CheckpointError>([&] { read_kolo_file(dir / "metrics.h5"); }),
                HasSubstr("metrics.h5"))
        << position;
  }
}

TEST(Inspect, AnHdf5FileWithoutUserBlockIsRefused) {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  write_file(dir / "b.h5", read_file(dir / "a.h5").substr(kUserBlockBytes));
  EXPECT_THAT(message_of<CheckpointError>([&] { read_kolo_file(dir / "b.h5"); }),
              AllOf(HasSubstr("b.h5"), HasSubstr("is not a file of kolo's"), HasSubstr("user block")));
}

TEST(Inspect, ADirectoryLeadsToVerifyAndToTheNewestCheckpoint) {
  const TempDir dir;
  const auto refusal = [&](const std::filesystem::path& path) {
    return message_of<ConfigError>([&] { read_kolo_file(path); });
  };
  EXPECT_THAT(refusal(dir.path()),
              AllOf(HasSubstr("is a directory"), HasSubstr("kolo verify"), Not(HasSubstr("newest"))));
  const std::filesystem::path checkpoints = dir / "checkpoints";
  std::filesystem::create_directory(checkpoints);
  write_file(checkpoints / "last.h5", "");
  for (const std::filesystem::path& path : {dir.path(), checkpoints})
    EXPECT_THAT(refusal(path), HasSubstr("its newest checkpoint is " + (checkpoints / "last.h5").string()));
}

TEST(Inspect, WhatIsNoFileIsRefusedWithoutWaiting) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  write_file(dir / "empty", "");
  std::filesystem::create_symlink("nowhere", dir / "dangling");
  for (const char* name : {"pipe", "empty", "dangling", "missing"})
    EXPECT_THAT(message_of<CheckpointError>([&] { read_kolo_file(dir / name); }), HasSubstr(name));
}

TEST(Inspect, ASealedFileOfAnotherKindIsRefused) {
  const TempDir dir;
  {
    const Hdf5Image image = [] {
      const Hdf5Lock lock;
      return Hdf5Image(create_memory_file(4096, kUserBlockBytes));
    }();
    write_sealed(dir / "a.h5", image.bytes());
  }
  EXPECT_THAT(message_of<CheckpointError>([&] { read_kolo_file(dir / "a.h5"); }),
              AllOf(HasSubstr("a.h5"), HasSubstr("neither")));
}

TEST(Inspect, GroupsAreCountedInTheirOrder) {
  const std::vector<GroupFacts> groups = groups_of(sample_checkpoint());
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].name, "model");
  EXPECT_EQ(groups[1].name, "buffers");
  EXPECT_EQ(groups[2].name, "optimizer/exp_avg");
  EXPECT_EQ(groups[0].tensors, 2);
  EXPECT_EQ(groups[0].elements, 8);
  EXPECT_EQ(groups[0].bytes, 32);
  EXPECT_EQ(groups[1].elements, 4);
  EXPECT_EQ(groups[1].bytes, 32);
}

TEST(Inspect, TensorsComeInTheirStoredOrder) {
  std::vector<std::string> paths;
  for (const TensorFacts& tensor : tensors_of(sample_checkpoint()))
    paths.push_back(tensor.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/model/layer1.0.conv1.weight", "/model/fc.bias",
                                             "/buffers/bn.running_mean", "/buffers/bn.num_batches_tracked",
                                             "/optimizer/exp_avg/layer1.0.conv1.weight",
                                             "/optimizer/exp_avg/fc.bias"}));
}

TEST(Inspect, ProgressOfAnotherTypeIsAbsent) {
  Checkpoint checkpoint;
  checkpoint.progress = {{"step", std::int64_t{7}}, {"epoch", 1.5}, {"cpu", "a processor"}};
  const ProgressFacts progress = progress_of(checkpoint);
  EXPECT_EQ(progress.step, 7);
  EXPECT_EQ(progress.epoch, std::nullopt);
  EXPECT_EQ(progress.processor, "a processor");
  EXPECT_EQ(progress.best_val_top1, std::nullopt);
}

TEST(TensorFacts, NonFiniteElementsAreCountedAndSpoilNothing) {
  const TensorFacts found = facts<double>({kNaN, 0, -kInfinity, 3, -0.0, kInfinity, -1});
  EXPECT_EQ(found.elements, 7);
  EXPECT_EQ(found.non_finite, 3);
  EXPECT_EQ(found.zeros, 2);
  EXPECT_EQ(found.min, ElementValue(-1.0));
  EXPECT_EQ(found.max, ElementValue(3.0));
  EXPECT_EQ(found.mean, 0.5);
}

TEST(TensorFacts, WithoutFiniteElementsThereIsNoValue) {
  for (const TensorFacts& found : {facts<float>({std::nanf(""), std::nanf("")}), facts<float>({})}) {
    EXPECT_EQ(found.min, std::nullopt);
    EXPECT_EQ(found.max, std::nullopt);
    EXPECT_EQ(found.mean, std::nullopt);
    EXPECT_EQ(found.zeros, 0);
    EXPECT_EQ(found.non_finite, found.elements);
  }
}

TEST(TensorFacts, IntegersBeyondFp64AreExact) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const TensorFacts found = facts<std::int64_t>({-large, large});
  EXPECT_EQ(found.min, ElementValue(-large));
  EXPECT_EQ(found.max, ElementValue(large));
  EXPECT_EQ(found.mean, 0);
  EXPECT_EQ(facts<std::uint8_t>({255, 0}).max, ElementValue(std::int64_t{255}));
}

TEST(TensorFacts, AValueOfFp32IsThatValue) {
  EXPECT_EQ(facts<float>({0.1F, 0.1F}).min, ElementValue(double{0.1F}));
  EXPECT_EQ(facts<float>({0.1F, 0.1F}).mean, double{0.1F});
}

}  // namespace
}  // namespace kolo::io::test
