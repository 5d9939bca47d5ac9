#include "kolo/util/subprocess.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace kolo::util {
namespace {

class Subprocess : public testing::Test {
 protected:
  ProgramResult run(const std::vector<std::string>& argv) { return run_program(argv, signals_); }
  ProgramResult run_script(const std::string& script) { return run({"sh", "-c", script}); }

  const HeldSignals signals_;
};

TEST_F(Subprocess, KeepsBothStreamsInTheOrderTheyWereWritten) {
  EXPECT_EQ(run_script("echo one; echo two >&2; printf three").output, "one\ntwo\nthree");
}

TEST_F(Subprocess, KeepsOutputThatIsLargerThanAPipe) {
  EXPECT_EQ(run_script("head -c 1000000 /dev/zero").output, std::string(1'000'000, '\0'));
}

TEST_F(Subprocess, PassesArgumentsAsTheyAre) {
  EXPECT_EQ(run({"printf", "%s|", "a b", "$HOME", "", "'\"*"}).output, "a b|$HOME||'\"*|");
}

TEST_F(Subprocess, GivesNoStandardInput) { EXPECT_EQ(run({"cat"}).exit_code, 0); }

TEST_F(Subprocess, TellsAnExitCodeFromASignal) {
  const ProgramResult exited = run_script("exit 7");
  EXPECT_EQ(exited.exit_code, 7);
  EXPECT_FALSE(exited.signal);
  const ProgramResult killed = run_script("kill -KILL $$");
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_FALSE(killed.exit_code);
}

TEST_F(Subprocess, SaysWhyAProgramCannotBeStarted) {
  const ProgramResult missing = run({"no-such-program-of-kolo"});
  EXPECT_EQ(missing.start_error, "No such file or directory");
  EXPECT_FALSE(missing.exit_code);
  EXPECT_EQ(run({"/"}).start_error, "Permission denied");
}

TEST_F(Subprocess, ChildrenStartWithTheSignalsOfBefore) {
  const ProgramResult ended = run_script("kill -TERM $$; echo still here");
  EXPECT_EQ(ended.signal, SIGTERM);
  EXPECT_EQ(ended.output, "");
}

TEST_F(Subprocess, LeavesNoDescriptorOpen) {
  const auto next_descriptor = [] {
    const int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
  };
  const int before = next_descriptor();
  run({"true"});
  run({"no-such-program-of-kolo"});
  EXPECT_EQ(next_descriptor(), before);
}

// No sleep in the loop: a shell tells of a child of its own that the signal ended, too.
TEST_F(Subprocess, PassesASignalOnToTheWholeGroup) {
  const std::string script =
      "(trap 'echo told; exit' TERM; kill -INT " + std::to_string(getpid()) + "; while :; do :; done) & wait";
  const ProgramResult result = run_script(script);
  EXPECT_EQ(result.interrupted, SIGINT);
  EXPECT_EQ(result.output, "told\n");
  EXPECT_EQ(result.signal, SIGTERM);
}

TEST_F(Subprocess, KillsAtASecondSignal) {
  const std::string parent = std::to_string(getpid());
  const std::string script =
      "trap 'kill -INT " + parent + "' TERM; kill -TERM " + parent + "; while :; do :; done";
  const ProgramResult result = run_script(script);
  EXPECT_EQ(result.interrupted, SIGTERM);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST(HeldSignals, WaitToBeTaken) {
  const HeldSignals held;
  EXPECT_FALSE(held.take());
  std::raise(SIGTERM);
  EXPECT_EQ(held.take(), SIGTERM);
  EXPECT_FALSE(held.take());
}

TEST(HeldSignals, TakeEffectInTheEnd) {
  EXPECT_EXIT(
      {
        {
          const HeldSignals held;
          std::raise(SIGHUP);
        }
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGHUP), "");
}

TEST(HeldSignals, LeaveAnIgnoredSignalIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const HeldSignals held;
    std::raise(SIGHUP);
    EXPECT_FALSE(held.take());
  }
  std::signal(SIGHUP, before);
}

TEST(DieBySignal, WhateverTheHandlerAndTheMask) {
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, [](int) {});
        const HeldSignals held;
        die_by_signal(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace kolo::util
