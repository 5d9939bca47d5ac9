#include "kolo/io/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "fixtures.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using kolo::test::read_file;
using kolo::test::TempDir;
using kolo::test::write_file;
using testing::AllOf;
using testing::HasSubstr;

TEST(AtomicFile, ReplacesTheOldContentOnCommit) {
  const TempDir dir;
  write_file(dir / "a", "old");
  AtomicFile file(dir / "a");
  file.write("ne");
  file.write("w");
  EXPECT_EQ(read_file(dir / "a"), "old");
  file.commit();
  EXPECT_EQ(read_file(dir / "a"), "new");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempDir dir;
  {
    AtomicFile file(dir / "a");
    file.write("half");
    EXPECT_EQ(names_in(dir.path()).size(), 1U);
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotMix) {
  const TempDir dir;
  AtomicFile first(dir / "a");
  AtomicFile second(dir / "a");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(dir / "a"), "first");
}

TEST(AtomicFile, ReplacesALinkAndNotItsTarget) {
  const TempDir dir;
  write_file(dir / "target", "old");
  fs::create_symlink("target", dir / "a");
  write_atomically(dir / "a", "new");
  EXPECT_EQ(read_file(dir / "target"), "old");
  EXPECT_FALSE(fs::is_symlink(dir / "a"));
}

TEST(AtomicFile, NamesAMissingDirectory) {
  const TempDir dir;
  EXPECT_THAT(message_of<CheckpointError>([&] { AtomicFile file(dir / "none/a"); }),
              AllOf(HasSubstr("none/a"), HasSubstr("No such file or directory")));
}

TEST(AtomicFile, NamesAFileInPlaceOfTheDirectory) {
  const TempDir dir;
  write_file(dir / "file", "");
  EXPECT_THAT(message_of<CheckpointError>([&] { AtomicFile file(dir / "file/a"); }),
              AllOf(HasSubstr("file/a"), HasSubstr("Not a directory")));
}

TEST(AtomicFile, NamesADirectoryInPlaceOfTheFileAndCleansUp) {
  const TempDir dir;
  fs::create_directory(dir / "a");
  EXPECT_THAT(message_of<CheckpointError>([&] { write_atomically(dir / "a", "x"); }),
              AllOf(HasSubstr("rename"), HasSubstr("Is a directory")));
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, SaysHowFarItCameWhenSpaceRunsOutAndKeepsTheOldFile) {
  const TempDir dir;
  write_file(dir / "a", "old");
  {
    const FileSizeLimit limit(64 * 1024);
    EXPECT_THAT(
        message_of<CheckpointError>([&] { write_atomically(dir / "a", std::string(1024 * 1024, 'x')); }),
        AllOf(HasSubstr("cannot write"), HasSubstr("/a'"), HasSubstr("64.0 KiB of 1.0 MiB written")));
  }
  EXPECT_EQ(read_file(dir / "a"), "old");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFile, SaysThatTheDiskIsFull) {
  const TempDir dir;
  if (mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
  const std::string message =
      message_of<CheckpointError>([&] { write_atomically(dir / "a", std::string(1024 * 1024, 'x')); });
  const bool clean = fs::is_empty(dir.path());
  umount2(dir.path().c_str(), MNT_DETACH);
  EXPECT_THAT(message, AllOf(HasSubstr("No space left on device"), HasSubstr("of 1.0 MiB written, "),
                             HasSubstr("the disk is full")));
  EXPECT_TRUE(clean);
}

TEST(AtomicFile, OnlyTemporaryFilesOfOtherProcessesAreStale) {
  const TempDir dir;
  const AtomicFile mine(dir / "a.h5");
  EXPECT_FALSE(is_stale_temporary(names_in(dir.path()).at(0)));
  EXPECT_TRUE(is_stale_temporary(".a.h5.tmp-0123456789abcdef-0"));
  for (const char* name : {"", "a", "a.h5", ".a.h5", "a.h5.tmp-0123456789abcdef-0", ".a.tmp-0123456789abcdef",
                           ".a.tmp-0123456789abcde-0", ".a.tmp-0123456789abcdeX-0",
                           ".a.tmp-0123456789abcdef-x", ".a.tmp-0123456789abcdef-"})
    EXPECT_FALSE(is_stale_temporary(name)) << name;
}

TEST(AtomicSymlink, IsRelativeAndReplacesAnOlderOne) {
  const TempDir dir;
  write_file(dir / "one", "1");
  write_file(dir / "two", "2");
  atomic_symlink(dir / "one", dir / "link");
  atomic_symlink(dir / "two", dir / "link");
  EXPECT_EQ(fs::read_symlink(dir / "link"), "two");
  EXPECT_EQ(names_in(dir.path()), (std::vector<std::string>{"link", "one", "two"}));
}

TEST(AtomicSymlink, CrossesDirectories) {
  const TempDir dir;
  fs::create_directories(dir / "x/y");
  write_file(dir / "one", "1");
  atomic_symlink(dir / "one", dir / "x/y/link");
  EXPECT_EQ(fs::read_symlink(dir / "x/y/link"), "../../one");
}

TEST(AtomicSymlink, NamesWhatCannotBeReplaced) {
  const TempDir dir;
  fs::create_directory(dir / "link");
  EXPECT_THAT(message_of<CheckpointError>([&] { atomic_symlink(dir / "one", dir / "link"); }),
              HasSubstr("link"));
  EXPECT_THAT(message_of<CheckpointError>([&] { atomic_symlink(dir / "one", dir / "none/link"); }),
              AllOf(HasSubstr("none/link"), HasSubstr("No such file")));
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"link"});
}

/// A timer whose signal interrupts system calls of the calling thread every 200 microseconds.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &old_action_);
    const itimerval often{{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Interruptions() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &old_action_, nullptr);
  }

 private:
  struct sigaction old_action_ {};
};

/// Runs `act` in a thread that gets no SIGALRM, late enough for the other end of a pipe to be blocked by
/// then.
template <class F>
std::thread later(F act) {
  sigset_t alarm;
  sigset_t before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before);
  std::thread thread([act] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    act();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// Larger than any pipe, so that a transfer takes many short counts.
std::string long_text() {
  std::string text(4 * 1024 * 1024, '\0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i * 2654435761U >> 13);
  return text;
}

TEST(Descriptor, WritingSurvivesSignalsAndShortCounts) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  // A full pipe: the first write below blocks with nothing moved, which a signal turns into EINTR.
  const auto room = static_cast<std::size_t>(fcntl(writer.get(), F_GETPIPE_SZ));
  ASSERT_EQ(write_all(writer.get(), std::vector<std::byte>(room)).error, 0);
  const std::string sent = long_text();
  std::string received(room + sent.size(), '\0');
  const Interruptions interruptions;
  std::thread thread = later([&] { read_all(reader.get(), std::as_writable_bytes(std::span(received))); });
  const Transfer written = write_all(writer.get(), std::as_bytes(std::span(sent)));
  writer.close();
  thread.join();
  EXPECT_EQ(written.error, 0);
  EXPECT_EQ(written.done, sent.size());
  EXPECT_TRUE(received.substr(room) == sent);
}

TEST(Descriptor, ReadingSurvivesSignalsAndShortCounts) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const std::string sent = long_text();
  std::string received(sent.size() + 1, '\0');
  const Interruptions interruptions;
  std::signal(SIGPIPE, SIG_IGN);
  std::thread thread = later([&] {
    write_all(writer.get(), std::as_bytes(std::span(sent)));
    writer.close();
  });
  const Transfer read = read_all(reader.get(), std::as_writable_bytes(std::span(received)));
  // Lets the writer end where the reader gave up, so that a failure is reported and not a hang.
  if (read.error != 0) reader.close();
  thread.join();
  EXPECT_EQ(read.error, 0);
  EXPECT_EQ(read.done, sent.size());
  EXPECT_TRUE(received.substr(0, sent.size()) == sent);
}

TEST(Descriptor, ReportsTheErrorOfAFullDevice) {
  const Descriptor full = open_descriptor("/dev/full", O_WRONLY);
  if (!full) GTEST_SKIP() << "/dev/full cannot be opened: " << std::strerror(errno);
  EXPECT_EQ(write_all(full.get(), std::vector<std::byte>(10)).error, ENOSPC);
}

}  // namespace
}  // namespace kolo::io::test
