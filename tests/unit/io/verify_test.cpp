#include "kolo/io/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "kolo/io/lock_file.hpp"
#include "verify_fixtures.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using kolo::test::read_file;
using kolo::test::TempDir;
using kolo::test::write_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kStep10 = "checkpoints/step_000000010.h5";
const std::string kStep20 = "checkpoints/step_000000020.h5";

TEST(Verify, AFinishedRunIsWholeAndResumable) {
  const SampleRun run;
  const RunVerdict verdict = run.verify();
  for (const FileVerdict& file : verdict.files)
    EXPECT_EQ(file.state, FileState::ok) << file.name << ": " << file.what;
  EXPECT_EQ(verdict.files.size(), 9U);
  ASSERT_TRUE(verdict.resume);
  EXPECT_EQ(verdict.resume->name, kStep20);
  EXPECT_EQ(verdict.resume->step, 20);
  EXPECT_EQ(verdict.resume->epoch, 2);
  EXPECT_EQ(verdict.holder, std::nullopt);
}

/// Name, size and time of change of everything.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> state_of(const fs::path& directory) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> state;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat status {};
    EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
    state[entry.path()] = {status.st_size, status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec};
  }
  return state;
}

TEST(Verify, ChangesNothing) {
  const SampleRun run;
  run.damage(run.checkpoint(20));
  write_file(run / "checkpoints/.step_000000030.h5.tmp-0123456789abcdef-0", "half");
  const auto before = state_of(run.path());
  run.verify();
  EXPECT_EQ(state_of(run.path()), before);
}

TEST(Verify, WhatIsNoRunDirectoryIsAUsageError) {
  const TempDir dir;
  write_file(dir / "file", "");
  EXPECT_THAT(message_of<ConfigError>([&] { verify_run(dir.path()); }), HasSubstr("not a run directory"));
  EXPECT_THAT(message_of<ConfigError>([&] { verify_run(dir / "file"); }),
              AllOf(HasSubstr("not a directory"), HasSubstr("kolo inspect")));
  EXPECT_THAT(message_of<ConfigError>([&] { verify_run(dir / "none"); }), HasSubstr("No such file"));
  EXPECT_THROW(verify_run(""), ConfigError);
}

TEST(Verify, ARunWithoutCheckpointIsFine) {
  const TempDir dir;
  fs::create_directory(dir / "checkpoints");
  const RunVerdict verdict = verify_run(dir.path());
  EXPECT_EQ(verdict.damaged(), 0U);
  EXPECT_EQ(verdict.checkpoints, 0U);
  EXPECT_FALSE(verdict.resume);
}

TEST(Verify, ADamagedCheckpointCostsTheStepsSinceTheOneBefore) {
  const SampleRun run;
  run.damage(run.checkpoint(20));
  EXPECT_THAT(run.damaged(), ElementsAre(kStep20, "checkpoints/last.h5"));
  EXPECT_EQ(run.verify().resume->step, 10);
  EXPECT_THAT(run.verdict_on(kStep20), StartsWith("damaged: the checksum"));
  run.damage(run.checkpoint(10));
  EXPECT_FALSE(run.verify().resume);
  EXPECT_EQ(run.verify().checkpoints, 2U);
}

TEST(Verify, AnOlderDamagedCheckpointIsFoundAsWell) {
  const SampleRun run;
  run.damage(run.checkpoint(10));
  EXPECT_THAT(run.damaged(), ElementsAre(kStep10, "checkpoints/best.h5"));
  EXPECT_EQ(run.verify().resume->step, 20);
}

TEST(Verify, ANameMustAgreeWithTheStepInside) {
  const SampleRun run;
  fs::rename(run.checkpoint(10), run / "checkpoints/step_000000030.h5");
  EXPECT_THAT(run.verdict_on("checkpoints/step_000000030.h5"),
              HasSubstr("holds step 10, not that of its name"));
  EXPECT_EQ(run.verify().resume->step, 20);  // a resume passes over it as well
}

TEST(Verify, ACheckpointWithoutStepIsDamaged) {
  const SampleRun run;
  write_checkpoint(run.checkpoint(20), sample_checkpoint());
  EXPECT_THAT(run.verdict_on(kStep20), HasSubstr("no /progress/step"));
}

TEST(Verify, LinksMustPointAtWholeCheckpoints) {
  const SampleRun run;
  fs::remove(run.checkpoint(10));
  EXPECT_THAT(run.verdict_on("checkpoints/best.h5"), AllOf(StartsWith("damaged"), HasSubstr("not exist")));
  fs::remove(run / "checkpoints/best.h5");
  fs::create_symlink("best.h5", run / "checkpoints/best.h5");
  EXPECT_THAT(run.verdict_on("checkpoints/best.h5"), StartsWith("damaged"));
}

TEST(Verify, ALinkThatLagsBehindIsNoDamage) {
  const SampleRun run;
  run.link("last.h5", 10);
  EXPECT_THAT(run.verdict_on("checkpoints/last.h5"), AllOf(StartsWith("note"), HasSubstr("step 10")));
  write_checkpoint(run.checkpoint(20), checkpoint_of(20, 20, rows_until(2)));
  EXPECT_THAT(run.verdict_on("checkpoints/best.h5"), AllOf(StartsWith("note"), HasSubstr("step 20")));
  fs::remove(run / "checkpoints/best.h5");
  fs::remove(run / "checkpoints/last.h5");
  EXPECT_THAT(run.damaged(), IsEmpty());
}

TEST(Verify, TheBestIsTheOneThatTheNewestCheckpointNames) {
  const SampleRun run;
  write_checkpoint(run.checkpoint(30), checkpoint_of(30, 20, rows_until(2)));
  EXPECT_THAT(run.verdict_on("checkpoints/best.h5"),
              AllOf(StartsWith("damaged"), HasSubstr("points at step 10"), HasSubstr("step 20")));
  run.link("best.h5", 30);  // the evaluation after the last checkpoint found it better
  EXPECT_THAT(run.verdict_on("checkpoints/best.h5"), StartsWith("ok"));
}

TEST(Verify, ACopyInPlaceOfALinkIsNoted) {
  const SampleRun run;
  fs::remove(run / "checkpoints/last.h5");
  fs::copy_file(run.checkpoint(20), run / "checkpoints/last.h5");
  EXPECT_THAT(run.verdict_on("checkpoints/last.h5"), StartsWith("note"));
  run.damage(run / "checkpoints/last.h5");
  EXPECT_THAT(run.verdict_on("checkpoints/last.h5"), StartsWith("damaged"));
}

TEST(Verify, ADeckThatDoesNotParseIsNamedWithItsLine) {
  const SampleRun run;
  write_file(run / "config.ini", "[run]\nseed = 1\nsead = 2\n");
  EXPECT_THAT(run.verdict_on("config.ini"), AllOf(StartsWith("damaged"), HasSubstr("config.ini:3")));
  write_file(run / "config.ini", "[run]\nseed = 1x\n");
  EXPECT_THAT(run.verdict_on("config.ini"), AllOf(StartsWith("damaged"), HasSubstr("1x")));
  write_file(run / "config.ini", "");
  EXPECT_THAT(run.verdict_on("config.ini"), StartsWith("damaged"));
  write_file(run / "config.ini", "[run]\nseed = 1\n");
  EXPECT_THAT(run.verdict_on("config.ini"), AllOf(StartsWith("note"), HasSubstr("has 1 key")));
  fs::remove(run / "config.ini");
  EXPECT_THAT(run.damaged(), ElementsAre("config.ini"));
}

TEST(Verify, ASummaryMustBeAJsonObject) {
  const SampleRun run;
  EXPECT_EQ(run.verdict_on("summary.json"), "ok: the run ended: completed");
  for (const std::string text : {"", "{\"reason\": ", "[1]", "\xff"}) {
    write_file(run / "summary.json", text);
    EXPECT_THAT(run.damaged(), ElementsAre("summary.json")) << text;
  }
  write_file(run / "summary.json", std::string(100'000, '['));
  EXPECT_THAT(run.damaged(), ElementsAre("summary.json"));
  fs::remove(run / "summary.json");
  EXPECT_EQ(run.verdict_on("summary.json"), "");
}

TEST(Verify, TemporaryFilesOfTheDeadAreNoted) {
  const SampleRun run;
  const std::string name = "checkpoints/.step_000000030.h5.tmp-0123456789abcdef-0";
  write_file(run / name, "half");
  EXPECT_THAT(run.verdict_on(name), AllOf(StartsWith("note"), HasSubstr("dead run")));
}

TEST(Verify, ALiveRunIsSeenAndItsLockLeftAlone) {
  const SampleRun run;
  const LockFile lock(run / ".lock");
  const std::string text = read_file(run / ".lock");
  const RunVerdict verdict = run.verify();
  EXPECT_EQ(verdict.damaged(), 0U);
  ASSERT_TRUE(verdict.holder);
  EXPECT_THAT(*verdict.holder, HasSubstr(std::to_string(getpid())));
  EXPECT_EQ(read_file(run / ".lock"), text);
  EXPECT_THROW(LockFile(run / ".lock"), CommError);
}

TEST(Verify, TheLockFileOfADeadRunIsNoLiveRun) {
  const SampleRun run;
  { const LockFile lock(run / ".lock"); }
  EXPECT_EQ(run.verify().holder, std::nullopt);
  EXPECT_EQ(run.verdict_on(".lock"), "");
}

TEST(Verify, ForeignFilesAreNotedOrIgnored) {
  const SampleRun run;
  const std::string name = "checkpoints/best\xff\n.h5";
  write_file(run / name, "mine");
  write_file(run / "notes.txt", "mine");
  EXPECT_THAT(run.verdict_on(name), StartsWith("note"));
  EXPECT_EQ(run.verify().damaged(), 0U);
}

// One name at a time is a pipe, a directory, an empty file or a dangling link.
TEST(Verify, WhateverANameStandsForIsReportedWithoutWaiting) {
  for (const std::string name : {"config.ini", "metrics.csv", "metrics.h5", "metrics.jsonl", "summary.json",
                                 "checkpoints/step_000000020.h5", "checkpoints/last.h5"}) {
    for (int kind = 0; kind < 4; ++kind) {
      const SampleRun run;
      fs::remove(run / name);
      if (kind == 0) {
        ASSERT_EQ(mkfifo((run / name).c_str(), 0600), 0);
      }
      if (kind == 1) fs::create_directory(run / name);
      if (kind == 2) write_file(run / name, "");
      if (kind == 3) fs::create_symlink("nowhere", run / name);
      EXPECT_THAT(run.verdict_on(name), StartsWith("damaged")) << name << " " << kind;
    }
  }
}

TEST(Verify, APipeInPlaceOfTheLockIsNoted) {
  const SampleRun run;
  ASSERT_EQ(mkfifo((run / ".lock").c_str(), 0600), 0);
  EXPECT_THAT(run.verdict_on(".lock"), AllOf(StartsWith("note"), HasSubstr("cannot be told")));
}

TEST(Verify, AFileInPlaceOfTheCheckpointDirectoryIsDamage) {
  const SampleRun run;
  fs::remove_all(run / "checkpoints");
  write_file(run / "checkpoints", "");
  EXPECT_THAT(run.damaged(), ElementsAre("checkpoints/"));
}

}  // namespace
}  // namespace kolo::io::test
