#include "kolo/comm/shared_segments.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "kolo/util/error.hpp"
#include "support/temp_dir.hpp"

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 4096;
constexpr std::chrono::seconds kOld{3600}, kYoung{10};

class SharedSegments : public testing::Test {
 protected:
  std::string make(const std::string& name) {
    const std::string path = (dir.path() / name).string();
    test::write_file(path, std::string(kBytes, 'x'));
    set_age(path, kOld);
    return path;
  }
  static void set_age(const std::string& path, std::chrono::seconds age) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }
  // A process that shows `maps`.
  void start_process(const std::string& number, const std::string& maps) {
    fs::create_directory(processes.path() / number);
    test::write_file(processes.path() / number / "maps", maps);
  }
  // No user, root included, can open a link to itself.
  void start_hidden_process(const std::string& number) {
    fs::create_directory(processes.path() / number);
    fs::create_symlink("maps", processes.path() / number / "maps");
  }
  SharedMemory look() { return look_at_shared_memory(dir.path(), processes.path()); }
  std::vector<std::string> left_over() {
    std::vector<std::string> paths;
    for (const LeftOver& file : look().left_over)
      paths.push_back(file.path);
    return paths;
  }

  test::TempDir dir;
  test::TempDir processes;  // instead of /proc, where other programs come and go
};

TEST_F(SharedSegments, FilesOfOpenMpiThatNobodyMapsAreLeftOver) {
  const std::string message = make("vader_segment.host.0.1.0"), window = make("osc_sm.host.1.2.0");
  EXPECT_THAT(left_over(), testing::ElementsAre(window, message));
  EXPECT_EQ(look().left_over.front().bytes, std::int64_t{kBytes});
}

TEST_F(SharedSegments, OtherFilesAreNobodysBusiness) {
  make("sem.other");
  make("my_vader_segment.0");
  EXPECT_THAT(left_over(), testing::IsEmpty());
}

TEST_F(SharedSegments, AMappedFileIsInUse) {
  const std::string path = make("vader_segment.host.0.1.0");
  const int file = open(path.c_str(), O_RDWR);
  void* memory = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  ASSERT_NE(memory, MAP_FAILED);
  start_process("1", test::read_file("/proc/self/maps"));
  EXPECT_THAT(left_over(), testing::IsEmpty());
  munmap(memory, kBytes);
  test::write_file(processes.path() / "1" / "maps", test::read_file("/proc/self/maps"));
  EXPECT_THAT(left_over(), testing::ElementsAre(path));
}

TEST_F(SharedSegments, AYoungFileMayBelongToAJobThatStarts) {
  const std::string path = make("vader_segment.host.0.1.0");
  set_age(path, kYoung);
  EXPECT_THAT(left_over(), testing::IsEmpty());
}

TEST_F(SharedSegments, NothingIsLeftOverWhereAProcessOfThisUserIsHidden) {
  make("vader_segment.host.0.1.0");
  start_hidden_process("7");
  start_hidden_process("self");  // no process
  EXPECT_THAT(left_over(), testing::IsEmpty());
  EXPECT_EQ(look().hidden_processes, 1);
}

TEST_F(SharedSegments, TheFirstProcessOfTheMachineMayHide) {
  const std::string path = make("vader_segment.host.0.1.0");
  start_hidden_process("1");
  EXPECT_THAT(left_over(), testing::ElementsAre(path));
}

TEST_F(SharedSegments, AHiddenProcessDoesNotMatterWithoutFilesToJudge) {
  const std::string path = make("vader_segment.host.0.1.0");
  start_hidden_process("7");
  start_process("2", "7f00-7f01 rw-s 00000000 00:17 42    " + path + "\n");
  EXPECT_EQ(look().hidden_processes, 0);
}

TEST_F(SharedSegments, AProcessThatEndedHidesNothing) {
  const std::string path = make("vader_segment.host.0.1.0");
  fs::create_directory(processes.path() / "1");
  EXPECT_THAT(left_over(), testing::ElementsAre(path));
}

TEST_F(SharedSegments, ProcessesOfAnotherUserAreNotAsked) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a process away";
  const std::string path = make("vader_segment.host.0.1.0");
  start_hidden_process("7");
  ASSERT_EQ(chown((processes.path() / "7").c_str(), 12345, 12345), 0);
  EXPECT_THAT(left_over(), testing::ElementsAre(path));
}

TEST_F(SharedSegments, FilesOfAnotherUserAreNotJudged) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const std::string path = make("vader_segment.host.1.1.0");
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(left_over(), testing::IsEmpty());
}

TEST_F(SharedSegments, AMissingFolderIsAnError) {
  EXPECT_THROW(look_at_shared_memory(dir.path() / "missing"), CommError);
}

}  // namespace
}  // namespace kolo::comm
