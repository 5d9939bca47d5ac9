#include "kolo/comm/slurm_job.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "support/temp_dir.hpp"

namespace kolo::comm::test {
namespace {

TEST(SlurmJob, TimeLeftIsReadInAllItsForms) {
  EXPECT_EQ(parse_time_left("4:59\n"), 299);
  EXPECT_EQ(parse_time_left("0:00"), 0);
  EXPECT_EQ(parse_time_left("1:02:03"), 3723);
  EXPECT_EQ(parse_time_left("2-01:00:00"), 2 * 86400 + 3600);
  for (const char* text : {"UNLIMITED", "INVALID", "NOT_SET", "", "\n", "12", "-1:00", "1:-1", "a-1:00",
                           "1:2:3:4", "slurm_load_jobs error: Unable to contact slurm controller"})
    EXPECT_EQ(parse_time_left(text), std::nullopt) << text;
}

/// Stands in for Slurm: a squeue that runs `script`, first in PATH.
class FakeSlurm : public testing::Test {
 protected:
  void install(const std::string& script) {
    kolo::test::write_file(dir_ / "squeue", "#!/bin/sh\n" + script);
    std::filesystem::permissions(dir_ / "squeue", std::filesystem::perms::owner_all);
    setenv("PATH", (dir_.path().string() + ":" + path_).c_str(), 1);
    setenv("SLURM_JOB_ID", "17", 1);
  }
  ~FakeSlurm() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("SLURM_JOB_ID");
  }

  const kolo::test::TempDir dir_;
  const std::string path_ = std::getenv("PATH");
};

TEST_F(FakeSlurm, IsAskedForThisJob) {
  install("[ \"$*\" = '-h -j 17 -o %L' ] && echo 10:00\n");
  const std::time_t now = std::time(nullptr);
  const auto end = ask_slurm_for_job_end();
  ASSERT_TRUE(end.has_value());
  EXPECT_GE(*end, now + 600);
  EXPECT_LE(*end, std::time(nullptr) + 600);
}

TEST_F(FakeSlurm, MayFailOrKnowNoLimit) {
  install("echo 10:00; exit 1\n");
  EXPECT_EQ(ask_slurm_for_job_end(), std::nullopt);
  install("echo UNLIMITED\n");
  EXPECT_EQ(ask_slurm_for_job_end(), std::nullopt);
  unsetenv("SLURM_JOB_ID");
  install("echo 10:00\n");
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(ask_slurm_for_job_end(), std::nullopt);
}

}  // namespace
}  // namespace kolo::comm::test
