#include "kolo/comm/cgroup.hpp"

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

class Cgroup : public testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((dir.path() / file).parent_path());
    test::write_file(dir.path() / file, text + "\n");
  }
  CgroupLimits read() { return read_cgroup_limits(dir.path() / "membership", dir.path() / "mount"); }

  test::TempDir dir;
};

TEST_F(Cgroup, WithoutFilesThereIsNoLimit) {
  EXPECT_FALSE(read().cpus);
  write("membership", "0::/");
  EXPECT_FALSE(read().cpus);
  EXPECT_FALSE(read().memory_bytes);
}

TEST_F(Cgroup, ReadsTheTightestLimitOfNestedGroups) {
  write("membership", "0::/outer/inner");
  write("mount/outer/cpu.max", "150000 100000");
  write("mount/outer/inner/cpu.max", "400000 100000");
  write("mount/outer/memory.max", "4096");
  write("mount/outer/inner/memory.max", "max");
  EXPECT_EQ(read().cpus, 1.5);
  EXPECT_EQ(read().memory_bytes, 4096);
}

TEST_F(Cgroup, MaxIsNoLimit) {
  write("membership", "0::/job");
  write("mount/job/cpu.max", "max 100000");
  EXPECT_FALSE(read().cpus);
}

TEST_F(Cgroup, ReadsTheRootWhenTheGroupsPathCannotBeSeen) {
  write("membership", "0::/kubepods/elsewhere");
  write("mount/cpu.max", "200000 100000");
  EXPECT_EQ(read().cpus, 2);
}

TEST_F(Cgroup, ReadsTheControllersOfVersionOne) {
  write("membership", "4:cpu,cpuacct:/job\n3:memory:/job\n0::/");
  write("mount/cpu/job/cpu.cfs_quota_us", "50000");
  write("mount/cpu/job/cpu.cfs_period_us", "100000");
  write("mount/memory/job/memory.limit_in_bytes", "1048576");
  EXPECT_EQ(read().cpus, 0.5);
  EXPECT_EQ(read().memory_bytes, 1048576);
}

TEST_F(Cgroup, AnUnlimitedQuotaOfVersionOneIsNoLimit) {
  write("membership", "4:cpu:/");
  write("mount/cpu/cpu.cfs_quota_us", "-1");
  write("mount/cpu/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(read().cpus);
}

}  // namespace
}  // namespace kolo::comm
