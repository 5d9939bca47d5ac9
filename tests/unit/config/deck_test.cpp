#include "kolo/config/deck.hpp"

#include <gmock/gmock.h>

#include <random>

#include "errors.hpp"
#include "kolo/config/load.hpp"
#include "kolo/config/option_table.hpp"
#include "support/temp_dir.hpp"

namespace kolo::config {
namespace {

using test::caught;
using testing::HasSubstr;
using testing::StartsWith;

struct Line {
  std::string key, value;
  int line;
  bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (const DeckEntry& entry : parse_deck(text, "d").entries) {
    lines.push_back({entry.key, entry.value, entry.line});
  }
  return lines;
}

std::string only_value(const std::string& line) {
  const auto lines = lines_of("[data]\n" + line);
  return lines.size() == 1 ? lines.front().value : "<" + std::to_string(lines.size()) + " entries>";
}

test::Caught deck_error(const std::string& text) {
  return caught([&] { parse_deck(text, "d.ini"); });
}

TEST(Deck, EntriesKeepOrderAndLineNumbers) {
  EXPECT_EQ(lines_of("# head\n\n[train]\nepochs = 3\n\n[run]\nseed=7\n[train]\nmax_steps =  9  "),
            (std::vector<Line>{{"train.epochs", "3", 4}, {"run.seed", "7", 7}, {"train.max_steps", "9", 9}}));
}

TEST(Deck, EmptyTextHasNoEntries) {
  for (const char* text : {"", "\n", "\xEF\xBB\xBF", "  \n\t\n# x", "[run]", "[run]\n"}) {
    EXPECT_TRUE(lines_of(text).empty()) << text;
  }
}

TEST(Deck, CommentsBeginAtLineStartOrAfterABlank) {
  EXPECT_EQ(only_value("path = a # b"), "a");
  EXPECT_EQ(only_value("path = a\t#b"), "a");
  EXPECT_EQ(only_value("path = a#b"), "a#b");
  EXPECT_EQ(only_value("path = a#b # c"), "a#b");
  EXPECT_EQ(only_value("path = # c"), "");
  EXPECT_EQ(only_value("#path = a"), "<0 entries>");
  EXPECT_EQ(only_value("   # path = a"), "<0 entries>");
  EXPECT_EQ(lines_of("[data] # c\npath = a").size(), 1U);
}

TEST(Deck, ValuesMayHoldEqualsSignsBlanksAndNothing) {
  EXPECT_EQ(only_value("path = a = b=c"), "a = b=c");
  EXPECT_EQ(only_value("  path   =   two  words  "), "two  words");
  EXPECT_EQ(only_value("path ="), "");
  EXPECT_EQ(only_value("path=[x]"), "[x]");
}

TEST(Deck, CarriageReturnsAndByteOrderMarkAreTolerated) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBF[run]\r\nseed = 3\r\n\r\n# c\r\n[ train ]\r\nepochs = 1\r"),
            (std::vector<Line>{{"run.seed", "3", 2}, {"train.epochs", "1", 6}}));
}

TEST(Deck, KeyBeforeAnySectionIsRefused) {
  const auto error = deck_error("\nepochs = 3");
  EXPECT_EQ(error.message, "d.ini:2: key epochs stands before any [section]");
  EXPECT_EQ(error.hint, "did you mean train.epochs?");
}

TEST(Deck, LineWithoutEqualsSignIsRefused) {
  EXPECT_EQ(deck_error("[train]\nepochs 3").message, "d.ini:2: found epochs 3: expected key = value");
}

TEST(Deck, EmptyKeyIsRefused) {
  EXPECT_EQ(deck_error("[train]\n = 3").message, "d.ini:2: found = 3: expected a key before '='");
}

TEST(Deck, MalformedHeaderIsRefused) {
  for (const char* header : {"[", "[]", "[ ]", "[train", "[train] x", "[train]#x"}) {
    EXPECT_THAT(deck_error(header).message, StartsWith("d.ini:1: found [")) << header;
  }
}

TEST(Deck, RepeatedKeyNamesBothLines) {
  EXPECT_EQ(deck_error("[train]\nepochs = 3\n[run]\n[train]\nepochs = 3").message,
            "d.ini:5: repeated key train.epochs: it is set in line 2 already");
}

TEST(Deck, UnknownKeyIsRefusedWithTheNearest) {
  const auto error = deck_error("[optimizer]\n\nlrr = 3");
  EXPECT_EQ(error.message, "d.ini:3: unknown key optimizer.lrr");
  EXPECT_EQ(error.hint, "did you mean optimizer.lr?");
}

TEST(Deck, UnknownSectionIsRefusedWithTheNearestOrAll) {
  const auto near = deck_error("[optimiser]");
  EXPECT_EQ(near.message, "d.ini:1: unknown section [optimiser]");
  EXPECT_EQ(near.hint, "did you mean optimizer?");
  EXPECT_THAT(deck_error("[something else]").hint, StartsWith("sections are run, data, "));
}

TEST(Deck, BinaryContentIsRefused) {
  EXPECT_EQ(deck_error(std::string("[run]\nse\0ed = 3", 14)).message,
            "d.ini:2: found byte 0x00: expected a text file");
  EXPECT_THAT(deck_error("\x7f"
                         "ELF")
                  .message,
              HasSubstr("0x7f"));
  EXPECT_THAT(deck_error("[run]\rseed = 3").message, HasSubstr("0x0d"));
}

TEST(DeckFile, ContentAndNameAreReturned) {
  const test::TempDir dir;
  test::write_file(dir / "a.ini", "[run]\r\nseed = 3");
  const DeckText deck = read_deck_file(dir / "a.ini");
  EXPECT_EQ(deck.text, "[run]\r\nseed = 3");
  EXPECT_EQ(deck.name, (dir / "a.ini").string());
  test::write_file(dir / "empty.ini", "");
  EXPECT_EQ(read_deck_file(dir / "empty.ini").text, "");
}

TEST(DeckFile, MissingFileIsRefused) {
  const auto error = caught([] { read_deck_file("no/such.ini"); });
  EXPECT_EQ(error.message, "no/such.ini: cannot open the deck: No such file or directory");
}

TEST(DeckFile, DirectoryIsRefused) {
  const test::TempDir dir;
  EXPECT_THAT(caught([&] { read_deck_file(dir.path()); }).message, HasSubstr("found a directory"));
}

TEST(DeckFile, EndlessFileIsRefused) {
  EXPECT_THAT(caught([] { read_deck_file("/dev/zero"); }).message, HasSubstr("more than 1048576 bytes"));
}

// Random bytes, and random edits of a good deck: a ConfigError or a Config, never anything else.
class DeckFuzz : public testing::TestWithParam<unsigned> {};

std::string good_deck() {
  Config config;
  const OptionTable table(config);
  std::string text, section;
  for (const Option& option : table.options()) {
    if (option.section != section) text += "[" + option.section + "]\n";
    section = option.section;
    text += option.name + " = " + option.default_value + " # " + option.help + "\n";
  }
  return text;
}

TEST_P(DeckFuzz, RandomDecksThrowOnlyConfigError) {
  std::mt19937 random(GetParam());
  const std::string good = good_deck();
  const std::string alphabet = "[]=#., \t\n\r\"'-+0123456789eaxn\xEF\xBB\xBF" + std::string(1, '\0');
  for (int round = 0; round < 200; ++round) {
    std::string text = round % 4 == 0 ? std::string(random() % 200, ' ') : good;
    for (auto edits = round % 4 == 0 ? text.size() : 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      const char byte = round % 2 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random() % 5);
      }
    }
    try {
      load_config({}, DeckText{"fuzz", text});
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::AnyOf(StartsWith("fuzz:"), StartsWith("default:")));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeckFuzz, testing::Range(0U, 10U));

}  // namespace
}  // namespace kolo::config
