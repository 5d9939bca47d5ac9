#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "verify_fixtures.hpp"

namespace kolo::io::test {
namespace {

using kolo::test::read_file;
using kolo::test::write_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

void replace_in(const std::filesystem::path& file, const std::string& before, const std::string& after) {
  std::string text = read_file(file);
  const std::size_t position = text.find(before);
  ASSERT_NE(position, std::string::npos) << before;
  write_file(file, text.replace(position, before.size(), after));
}

TEST(VerifyMetrics, RowsNewerThanTheCheckpointAreFine) {
  const SampleRun run;
  run.write_metrics(rows_until(4));
  EXPECT_EQ(run.verdict_on("metrics.csv"), "ok: 4 rows");
  EXPECT_THAT(run.damaged(), IsEmpty());
}

TEST(VerifyMetrics, EveryRowOfTheCheckpointMustBeThere) {
  const SampleRun run;
  run.write_metrics(rows_until(1));
  EXPECT_THAT(run.damaged(), ElementsAre("metrics.h5", "metrics.csv", "metrics.jsonl"));
  EXPECT_THAT(run.verdict_on("metrics.csv"), HasSubstr("has 1 rows; checkpoints/step_000000020.h5 has 2"));
}

TEST(VerifyMetrics, AChangedValueIsNamed) {
  const SampleRun run;
  replace_in(run / "metrics.csv", "0.3333333333333333", "0.3333333333333334");
  EXPECT_THAT(run.damaged(), ElementsAre("metrics.csv"));
  EXPECT_THAT(run.verdict_on("metrics.csv"), AllOf(HasSubstr("row 1"), HasSubstr("train_loss")));
}

TEST(VerifyMetrics, OfNewerRowsTheSealedFileIsTrusted) {
  const SampleRun run;
  run.write_metrics(rows_until(3));
  replace_in(run / "metrics.csv", "\n3,30,", "\n3,31,");
  EXPECT_THAT(run.damaged(), ElementsAre("metrics.csv"));
  EXPECT_THAT(run.verdict_on("metrics.csv"), HasSubstr("row 3: step is 31; metrics.h5 has 30"));
}

TEST(VerifyMetrics, ALineThatWasNotWrittenYetIsNoDamage) {
  const SampleRun run;
  run.write_metrics(rows_until(3));
  const std::string text = read_file(run / "metrics.jsonl");
  write_file(run / "metrics.jsonl", text.substr(0, text.rfind("{\"epoch\": 3")));
  EXPECT_THAT(run.verdict_on("metrics.jsonl"), AllOf(StartsWith("note"), HasSubstr("2 of 3 rows")));
  write_file(run / "metrics.jsonl", text.substr(0, text.size() - 5));
  EXPECT_THAT(run.verdict_on("metrics.jsonl"), AllOf(StartsWith("note"), HasSubstr("not complete")));
}

TEST(VerifyMetrics, AMissingFileIsDamageOnceThereIsACheckpoint) {
  const SampleRun run;
  std::filesystem::remove(run / "metrics.jsonl");
  EXPECT_EQ(run.verdict_on("metrics.jsonl"), "damaged: is missing");
  std::filesystem::remove_all(run / "checkpoints");
  EXPECT_EQ(run.verdict_on("metrics.jsonl"), "note: is missing");
}

TEST(VerifyMetrics, TextThatIsNoTableIsDamage) {
  const SampleRun run;
  for (const std::string text : {"", "epoch,step", "epoch,step,train_loss,val_loss\n1,10\n", "a\nb\n",
                                 "epoch,step,train_loss,val_loss\n1,10,x,\n"}) {
    write_file(run / "metrics.csv", text);
    EXPECT_THAT(run.damaged(), ElementsAre("metrics.csv")) << text;
  }
}

TEST(VerifyMetrics, LinesThatAreNoJsonAreDamage) {
  const SampleRun run;
  for (const std::string text :
       {"", "\n", "{}\n{}\n", "{\"epoch\": \"1\"}\n", "[1]\n", "{\"epoch\": 1\n", "\xff\n"}) {
    write_file(run / "metrics.jsonl", text);
    EXPECT_THAT(run.damaged(), ElementsAre("metrics.jsonl")) << text;
  }
}

TEST(VerifyMetrics, ADamagedHdf5FileIsNotCompared) {
  const SampleRun run;
  run.damage(run / "metrics.h5");
  EXPECT_THAT(run.damaged(), ElementsAre("metrics.h5"));
  std::filesystem::copy_file(run.checkpoint(10), run / "metrics.h5",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(run.verdict_on("metrics.h5"), HasSubstr("is a checkpoint"));
}

TEST(VerifyMetrics, ColumnsAreComparedByName) {
  const SampleRun run;
  MetricTable table = rows_until(2);
  table.columns.push_back("memory");  // a newer kolo went on with the run
  for (std::vector<double>& row : table.rows) {
    row.push_back(std::nan(""));
    std::swap(row[0], row[3]);
  }
  std::swap(table.columns[0], table.columns[3]);
  run.write_metrics(table);
  EXPECT_THAT(run.damaged(), IsEmpty());
  replace_in(run / "metrics.csv", "memory", "menory");
  EXPECT_THAT(run.verdict_on("metrics.csv"), AllOf(StartsWith("damaged"), HasSubstr("no column memory")));
}

TEST(VerifyMetrics, InfinityIsNullInJson) {
  const SampleRun run;
  MetricTable table = rows_until(2);
  table.rows[0][3] = std::numeric_limits<double>::infinity();
  run.write_metrics(table);
  write_checkpoint(run.checkpoint(20), checkpoint_of(20, 10, table));
  EXPECT_THAT(run.damaged(), IsEmpty());
}

}  // namespace
}  // namespace kolo::io::test
