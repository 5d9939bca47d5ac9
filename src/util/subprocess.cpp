#include "kolo/util/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include "kolo/util/error.hpp"
#include "kolo/util/time.hpp"

extern char** environ;

namespace kolo::util {
namespace {

constexpr double kGraceSeconds = 10;  // mpirun gives its ranks a second and then needs some time itself

std::string words_of(int error) { return std::generic_category().message(error); }

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {
    if (fd < 0) throw Error(ExitCode::internal, "cannot watch another program: " + words_of(errno));
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// What posix_spawn is told about the child.
class SpawnPlan {
 public:
  SpawnPlan(int output, const sigset_t& mask) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &mask);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  /// 0 or an errno, and the child's id.
  std::pair<int, pid_t> start(std::span<const std::string> argv) const {
    std::vector<char*> words;
    for (const std::string& word : argv)
      words.push_back(const_cast<char*>(word.c_str()));  // posix_spawn's type; it changes nothing
    words.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, words[0], &actions_, &attributes_, words.data(), environ);
    return {error, child};
  }

 private:
  posix_spawn_file_actions_t actions_ = {};
  posix_spawnattr_t attributes_ = {};
};

enum class Stream { open, ended };

Stream read_some(int fd, std::string& output) {
  std::array<char, 4096> buffer = {};
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) output.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR) ? Stream::open : Stream::ended;
}

// Collects the output to its end; passes a signal on, and kills after a second one or when time is up.
void follow(pid_t child, int output, const HeldSignals& signals, ProgramResult& result) {
  Stopwatch since_signal;
  Stream stream = Stream::open;
  while (stream == Stream::open) {
    std::array<pollfd, 2> watched = {{{output, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
    constexpr int kForever = -1, kShort = 100;
    poll(watched.data(), watched.size(), result.interrupted ? kShort : kForever);
    const std::optional<int> arrived = signals.take();
    if (result.interrupted && (arrived || since_signal.seconds() > kGraceSeconds)) {
      kill(-child, SIGKILL);
      return;
    }
    if (arrived) {
      result.interrupted = arrived;
      since_signal = Stopwatch();
      kill(-child, SIGTERM);
    }
    if (watched[0].revents != 0) stream = read_some(output, result.output);
  }
}

void await_end(pid_t child, ProgramResult& result) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
}

}  // namespace

ProgramResult run_program(std::span<const std::string> argv, const HeldSignals& signals) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  ProgramResult result;
  const auto [error, child] = SpawnPlan(input.get(), signals.mask_before()).start(argv);
  input.close();  // so that the output ends with the child
  if (error != 0) {
    result.start_error = words_of(error);
    return result;
  }
  follow(child, output.get(), signals, result);
  await_end(child, result);
  return result;
}

}  // namespace kolo::util
