#include "kolo/io/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "fixtures.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

using kolo::test::TempDir;
using testing::HasSubstr;

/// What comes back after a write.
Checkpoint round_trip(const Checkpoint& checkpoint) {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", checkpoint);
  return read_checkpoint(dir / "a.h5");
}

TEST(Checkpoint, RoundTripKeepsEverythingAndItsOrder) {
  const Checkpoint checkpoint = sample_checkpoint();
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, RoundTripOfAnEmptyCheckpoint) { EXPECT_EQ(round_trip(Checkpoint{}), Checkpoint{}); }

TEST(Checkpoint, RoundTripOfEveryElementType) {
  Checkpoint checkpoint;
  checkpoint.model = {tensor<float>("f32", {2}, {std::numeric_limits<float>::denorm_min(), -0.0F}),
                      tensor<double>("f64", {2}, {std::numeric_limits<double>::max(), std::nan("7")}),
                      tensor<std::int64_t>("i64", {2}, {std::numeric_limits<std::int64_t>::min(), -1}),
                      tensor<std::uint8_t>("u8", {3}, {0, 128, 255})};
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, RoundTripOfScalarsAndZeroSizes) {
  Checkpoint checkpoint;
  checkpoint.model = {tensor<float>("scalar", {}, {42.0F}), tensor<float>("none", {0}, {}),
                      tensor<double>("thin", {3, 0, 5}, {}), tensor<std::uint8_t>("one", {1, 1, 1}, {9})};
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, RoundTripOfALargeTensorOfSixDimensions) {
  Checkpoint checkpoint;
  std::vector<float> values(std::size_t{7} * 11 * 13 * 17 * 3 * 41);
  std::iota(values.begin(), values.end(), 1.0F);
  checkpoint.model = {tensor<float>("large", {7, 11, 13, 17, 3, 41}, values)};
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, RoundTripOfManyTensorsKeepsTheirOrder) {
  Checkpoint checkpoint;
  for (int i = 300; i-- > 0;)
    checkpoint.model.push_back(
        tensor<std::int64_t>("layer" + std::to_string(i % 17) + '.' + std::to_string(i), {}, {i}));
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, AnOptimizerStateWithoutTensorsSurvives) {
  Checkpoint checkpoint;
  checkpoint.optimizer["momentum_buffer"];
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, ProgressKeepsItsTypes) {
  Checkpoint checkpoint;
  checkpoint.progress = {
      {"whole", std::int64_t{2}}, {"real", 2.0}, {"text", "2"}, {"empty", ""}, {"inf", -INFINITY}};
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, MissingMetricsStayMissing) {
  Checkpoint checkpoint;
  checkpoint.metrics = {{"val_loss"}, {{std::nan("")}, {1.5}}};
  const MetricTable metrics = round_trip(checkpoint).metrics;
  ASSERT_EQ(metrics.rows.size(), 2U);
  EXPECT_TRUE(std::isnan(metrics.rows[0][0]));
}

TEST(Checkpoint, MetricsWithoutRowsKeepTheirColumns) {
  Checkpoint checkpoint;
  checkpoint.metrics.columns = {"seconds", "val_loss", "epoch"};
  EXPECT_EQ(round_trip(checkpoint), checkpoint);
}

TEST(Checkpoint, MetricColumnsGoToTheirSplitAndBack) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"train_loss", "train/loss"}, {"val_top1", "val/top1"},       {"lr", "run/lr"},
      {"train_", "run/train_"},     {"validity", "run/validity"},   {"val", "run/val"},
      {"loss", "run/loss"},         {"test_loss", "run/test_loss"}, {"train", "run/train"},
      {"run_time", "run/run_time"}};
  for (const auto& [column, path] : expected) {
    EXPECT_EQ(metric_path(column), path);
    EXPECT_EQ(metric_column(path), column);
  }
}

TEST(Checkpoint, WritingReplacesAnOlderFile) {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", Checkpoint{});
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  EXPECT_EQ(read_checkpoint(dir / "a.h5"), sample_checkpoint());
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a.h5"});
}

TEST(Checkpoint, ThreadsMayWriteAndReadAtOnce) {
  const TempDir dir;
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Checkpoint checkpoint = sample_checkpoint();
      checkpoint.progress["thread"] = std::int64_t{i};
      for (int round = 0; round < 10; ++round) {
        const auto path = dir / (std::to_string(i) + ".h5");
        write_checkpoint(path, checkpoint);
        equal += read_checkpoint(path) == checkpoint ? 1 : 0;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(equal, 40);
}

/// The error of writing `checkpoint`, which must leave nothing behind.
std::string refusal(const Checkpoint& checkpoint) {
  const TempDir dir;
  const std::string message =
      message_of<CheckpointError>([&] { write_checkpoint(dir / "a.h5", checkpoint); });
  EXPECT_THAT(message, HasSubstr("a.h5"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  return message;
}

TEST(Checkpoint, RefusesANameThatIsNotOneLink) {
  for (const std::string name : {"a/b", "", ".", "/"}) {
    Checkpoint checkpoint;
    checkpoint.model = {tensor<float>(name, {1}, {1})};
    EXPECT_THAT(refusal(checkpoint), HasSubstr("cannot name an HDF5 object"));
  }
}

TEST(Checkpoint, RefusesTheSameNameTwice) {
  Checkpoint checkpoint;
  checkpoint.model = {tensor<float>("a", {1}, {1}), tensor<float>("a", {1}, {1})};
  EXPECT_THAT(refusal(checkpoint), HasSubstr("cannot create the data set 'a'"));
}

TEST(Checkpoint, RefusesDataThatDoesNotFitTheShape) {
  Checkpoint checkpoint;
  checkpoint.model = {tensor<float>("a", {2, 3}, {1, 2, 3, 4, 5})};
  EXPECT_THAT(refusal(checkpoint), HasSubstr("'a' of shape [2, 3] has 20 bytes; expected 24"));
}

TEST(Checkpoint, RefusesImpossibleShapes) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{-1}, {kHuge, kHuge}}) {
    Checkpoint checkpoint;
    checkpoint.model = {tensor<float>("a", shape, {})};
    EXPECT_THAT(refusal(checkpoint), HasSubstr("cannot have the shape"));
  }
}

TEST(Checkpoint, RefusesTextThatHdf5WouldCut) {
  Checkpoint checkpoint;
  checkpoint.config = std::string("a\0b", 3);
  EXPECT_THAT(refusal(checkpoint), HasSubstr("NUL"));
}

TEST(Checkpoint, RefusesARaggedMetricTable) {
  Checkpoint checkpoint;
  checkpoint.metrics = {{"a", "b"}, {{1, 2}, {3}}};
  EXPECT_THAT(refusal(checkpoint), HasSubstr("1 values for 2 columns"));
}

TEST(Checkpoint, NamesTheDirectoryThatIsMissing) {
  const TempDir dir;
  EXPECT_THAT(message_of<CheckpointError>([&] { write_checkpoint(dir / "no/a.h5", Checkpoint{}); }),
              testing::AllOf(HasSubstr("no/a.h5"), HasSubstr("No such file or directory")));
}

}  // namespace
}  // namespace kolo::io::test
