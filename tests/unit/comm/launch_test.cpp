#include "kolo/comm/launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kolo/comm/cpu_binding.hpp"
#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                             "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_NTASKS"}) {
      unsetenv(name);
    }
  }
};

TEST_F(Launch, WithoutLauncherNothingIsKnown) { EXPECT_FALSE(read_launch_environment().tasks); }

TEST_F(Launch, ReadsEachLaunchersVariables) {
  for (const auto& [size, rank] :
       {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, std::pair{"PMI_SIZE", "PMI_RANK"},
        std::pair{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}}) {
    SetUp();
    setenv(size, "4", 1);
    setenv(rank, "2", 1);
    const LaunchEnvironment launch = read_launch_environment();
    EXPECT_EQ(launch.tasks, 4) << size;
    EXPECT_EQ(launch.rank, 2) << size;
    EXPECT_EQ(launch.source, size);
  }
}

TEST_F(Launch, ABatchShellsTaskCountDoesNotCount) {
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_FALSE(read_launch_environment().tasks);
}

TEST_F(Launch, GarbageIsNotANumber) {
  for (const char* text : {"", "x", "4x", "-1", "99999999999999999999"}) {
    setenv("PMI_SIZE", text, 1);
    EXPECT_FALSE(read_launch_environment().tasks) << text;
  }
}

TEST_F(Launch, RefusesSingletonsOnly) {
  setenv("PMI_SIZE", "3", 1);
  EXPECT_THROW(require_joined_world(read_launch_environment(), 1), CommError);
  EXPECT_NO_THROW(require_joined_world(read_launch_environment(), 3));
  setenv("PMI_SIZE", "1", 1);
  EXPECT_NO_THROW(require_joined_world(read_launch_environment(), 1));
}

TEST(ContiguousPart, CoversEveryCoreOnceWithSizesThatDifferByOne) {
  for (int count = 1; count <= 33; ++count) {
    for (int parts = 1; parts <= count; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const auto [first, last] = contiguous_part(count, parts, part);
        EXPECT_EQ(first, next);
        EXPECT_GE(last - first, count / parts);
        EXPECT_LE(last - first, count / parts + 1);
        next = last;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ContiguousPart, SharesCoresWhenThereAreMoreRanks) {
  for (int part = 0; part < 7; ++part) {
    const auto [first, last] = contiguous_part(3, 7, part);
    EXPECT_EQ(first, part % 3);
    EXPECT_EQ(last, first + 1);
  }
}

}  // namespace
}  // namespace kolo::comm
