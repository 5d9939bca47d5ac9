#include <gtest/gtest.h>

#include <cstring>

#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"
#include "support/temp_dir.hpp"

namespace kolo::util {
namespace {

TEST(Strings, TrimTakesWhiteSpaceFromBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Strings, JoinIsTheInverseOfSplit) {
  const std::string text = "x\ny\n\nz";
  EXPECT_EQ(join(split(text, '\n'), "\n"), text);
}

TEST(Strings, FormatBytesUsesBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(8.1 * 1024 * 1024), "8.1 MiB");
}

TEST(Strings, FormatCountGroupsThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(2122186), "2,122,186");
  EXPECT_EQ(format_count(-123456), "-123,456");
}

TEST(Strings, FormatDurationGrowsWithTheTime) {
  EXPECT_EQ(format_duration(0.84), "0.8 s");
  EXPECT_EQ(format_duration(42.4), "42 s");
  EXPECT_EQ(format_duration(187), "3:07");
  EXPECT_EQ(format_duration(3753), "1:02:33");
}

TEST(Strings, NearestFindsAMisspeltName) {
  const std::vector<std::string> names = {"optimizer.lr", "train.epochs", "run.seed"};
  EXPECT_EQ(nearest("optimizer.lrr", names), "optimizer.lr");
  EXPECT_EQ(nearest("train.epoch", names), "train.epochs");
  EXPECT_EQ(nearest("quite different", names), std::nullopt);
}

TEST(Digest, OfPiecesEqualsDigestOfTheWhole) {
  Digest pieces;
  pieces.add("ten").add("sor");
  EXPECT_EQ(pieces.value(), digest("tensor"));
}

TEST(Digest, ChangesWithAnyByte) {
  std::string text(1000, 'a');
  const std::uint64_t before = digest(text);
  for (std::size_t i = 0; i < text.size(); i += 37) {
    text[i] = 'b';
    EXPECT_NE(digest(text), before);
    text[i] = 'a';
  }
}

TEST(Digest, HexHasSixteenDigits) { EXPECT_EQ(to_hex(0xabcULL), "0000000000000abc"); }

TEST(Log, FileHoldsLinesFromBeforeItWasOpened) {
  const test::TempDir dir;
  enable_log(true);
  log("early", LogTarget::file_only);
  open_log_file(dir / "log.txt");
  log("late", LogTarget::file_only);
  close_log_file();
  enable_log(false);
  const std::string text = test::read_file(dir / "log.txt");
  EXPECT_NE(text.find("early\n"), std::string::npos);
  EXPECT_LT(text.find("early\n"), text.find("late\n"));
}

TEST(Log, UnwritableFileIsAnError) {
  enable_log(true);
  EXPECT_THROW(open_log_file("/proc/none/log.txt"), Error);
  enable_log(false);
}

TEST(Strings, ShellQuotedWordsAreReadBackByAShell) {
  EXPECT_EQ(shell_quoted("runs/a-1"), "runs/a-1");
  EXPECT_EQ(shell_quoted("my run's $x"), "'my run'\\''s $x'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace kolo::util
