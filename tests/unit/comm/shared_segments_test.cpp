#include "kolo/comm/shared_segments.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kolo/util/error.hpp"
#include "support/temp_dir.hpp"

namespace kolo::comm {
namespace {

constexpr std::size_t kBytes = 4096;

class SharedSegments : public testing::Test {
 protected:
  std::string make(const std::string& name) {
    const std::string path = (dir.path() / name).string();
    test::write_file(path, std::string(kBytes, 'x'));
    return path;
  }
  std::vector<std::string> left_over() {
    std::vector<std::string> paths;
    for (const LeftOver& file : look_at_shared_memory(dir.path()).left_over)
      paths.push_back(file.path);
    return paths;
  }

  test::TempDir dir;
};

TEST_F(SharedSegments, FilesOfOpenMpiThatNobodyMapsAreLeftOver) {
  const std::string message = make("vader_segment.host.0.1.0"), window = make("osc_sm.host.1.2.0");
  EXPECT_THAT(left_over(), testing::ElementsAre(window, message));
  EXPECT_EQ(look_at_shared_memory(dir.path()).left_over.front().bytes, std::int64_t{kBytes});
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
  EXPECT_THAT(left_over(), testing::IsEmpty());
  munmap(memory, kBytes);
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
