#include "kolo/config/option_table.hpp"

#include <gmock/gmock.h>

#include <set>

#include "errors.hpp"

namespace kolo::config {
namespace {

using test::caught;
using testing::ElementsAre;

class OptionTableTest : public testing::Test {
 protected:
  bool accepts(const std::string& key, const std::string& value) { return table_.find(key)->assign(value); }

  Config config_;
  OptionTable table_{config_};
};

TEST_F(OptionTableTest, EveryRowIsComplete) {
  for (const Option& option : table_.options()) {
    EXPECT_FALSE(option.help.empty()) << option.key();
    EXPECT_FALSE(option.expected.empty()) << option.key();
    EXPECT_EQ(option.help.find('\n'), std::string::npos) << option.key();
    EXPECT_LE(option.help.size(), 104U) << option.key() << ": --help is 110 columns wide and indents by 6";
  }
}

TEST_F(OptionTableTest, EveryKeyAcceptsItsOwnDefaultAndKeepsIt) {
  for (const Option& option : table_.options()) {
    EXPECT_TRUE(option.assign(option.default_value)) << option.key() << " = " << option.default_value;
    EXPECT_EQ(option.print(), option.default_value) << option.key();
  }
  EXPECT_EQ(config_, Config{});
}

TEST_F(OptionTableTest, NoKeyIsThereTwiceAndSectionsAreContiguous) {
  const auto keys = table_.keys();
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  const auto sections = table_.sections();
  EXPECT_EQ(std::set(sections.begin(), sections.end()).size(), sections.size());
}

// Each row writes a member of its own: setting one key changes what that key prints and no other.
TEST_F(OptionTableTest, EveryKeyChangesOneMemberOnly) {
  const std::vector<std::string> tries = {
      "3",    "5",         "false", "true",          "0.25",   "fp64",          "cpu",
      "bar",  "idx",       "cifar", "skip",          "adam",   "bias_and_norm", "linear",
      "step", "allreduce", "keep",  "channels_last", "system", "off",           "text"};
  for (const Option& option : table_.options()) {
    if (option.key() == "model.batch_norm") continue;  // has one value only
    Config changed;
    OptionTable table(changed);
    for (const std::string& value : tries) {
      if (table.find(option.key())->assign(value) && changed != Config{}) break;
    }
    ASSERT_NE(changed, Config{}) << option.key();
    for (const Option& other : table.options()) {
      EXPECT_EQ(other.print() == other.default_value, other.key() != option.key())
          << option.key() << " against " << other.key();
    }
  }
}

TEST_F(OptionTableTest, IntegersAreWholeDecimalNumbersInRange) {
  for (const char* good : {"1", "17", "1000000"})
    EXPECT_TRUE(accepts("train.epochs", good)) << good;
  for (const char* bad : {"", " ", "ten", "1e5", "3.5", "5x", "x5", "5 6", "0x10", "-1", "0", "1000001",
                          "1,000", "99999999999999999999", "+", "-", "nan", "inf", "true"}) {
    EXPECT_FALSE(accepts("train.epochs", bad)) << bad;
  }
  EXPECT_EQ(config_.train.epochs, 1'000'000);
}

TEST_F(OptionTableTest, NumbersAreFiniteAndInRange) {
  for (const char* good : {"1", "0.5", "1e-5", "2E3", ".5", "1.", "1e300"}) {
    EXPECT_TRUE(accepts("optimizer.lr", good)) << good;
  }
  for (const char* bad : {"", "fast", "0", "-0.1", "nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e400",
                          "1e", "0,1", "0.1x", "0.1 0.2", "0x1p3", "1.5f", "--1", "1..2"}) {
    EXPECT_FALSE(accepts("optimizer.lr", bad)) << bad;
  }
  EXPECT_EQ(config_.optimizer.lr, 1e300);
}

TEST_F(OptionTableTest, NoNumericKeyAcceptsNanOrInfinity) {
  for (const Option& option : table_.options()) {
    if (option.expected.find("number") == std::string::npos &&
        option.expected.find("integer") == std::string::npos) {
      continue;
    }
    for (const char* bad : {"nan", "inf", "-inf", "NAN", "1, nan", "inf, 1"}) {
      EXPECT_FALSE(option.assign(bad)) << option.key() << " = " << bad;
    }
  }
}

TEST_F(OptionTableTest, FractionsStopShortOfOne) {
  for (const char* key : {"data.val_fraction", "model.dropout", "train.label_smoothing", "optimizer.momentum",
                          "optimizer.beta1", "optimizer.beta2"}) {
    EXPECT_TRUE(accepts(key, "0")) << key;
    EXPECT_TRUE(accepts(key, "0.999")) << key;
    EXPECT_FALSE(accepts(key, "1")) << key;
    EXPECT_FALSE(accepts(key, "-0.001")) << key;
  }
}

TEST_F(OptionTableTest, BooleansHaveEightSpellings) {
  for (const char* yes : {"true", "yes", "on", "1"}) {
    EXPECT_TRUE(accepts("data.flip", "0"));
    EXPECT_TRUE(accepts("data.flip", yes)) << yes;
    EXPECT_TRUE(config_.data.flip) << yes;
  }
  for (const char* no : {"false", "no", "off", "0"}) {
    EXPECT_TRUE(accepts("data.flip", "1"));
    EXPECT_TRUE(accepts("data.flip", no)) << no;
    EXPECT_FALSE(config_.data.flip) << no;
  }
  for (const char* bad : {"", "2", "maybe", "truee", "t", "true false", "-1"}) {
    EXPECT_FALSE(accepts("data.flip", bad)) << bad;
  }
}

TEST_F(OptionTableTest, EnumsTakeTheirExactSpellings) {
  EXPECT_TRUE(accepts("optimizer.name", "adamw"));
  EXPECT_EQ(config_.optimizer.name, OptimizerName::adamw);
  for (const char* bad : {"", "Adam", "adam ", "adamax", "adam,sgd", "0"}) {
    EXPECT_FALSE(accepts("optimizer.name", bad)) << bad;
  }
  EXPECT_EQ(table_.find("optimizer.name")->expected, "one of sgd, adam, adamw");
  EXPECT_EQ(table_.find("model.batch_norm")->expected, "local");
}

// Other programs and old decks rely on these.
TEST_F(OptionTableTest, FixedSpellingsAreAccepted) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> spellings = {
      {"run.dtype", {"fp32", "fp64"}},
      {"run.device", {"auto", "cpu"}},
      {"run.progress", {"auto", "bar", "plain", "none"}},
      {"data.format", {"synthetic", "idx", "cifar10", "cifar100", "hdf5"}},
      {"model.stem", {"imagenet", "cifar"}},
      {"model.batch_norm", {"local"}},
      {"train.on_nonfinite", {"stop", "skip"}},
      {"optimizer.name", {"sgd", "adam", "adamw"}},
      {"optimizer.no_decay", {"none", "bias_and_norm"}},
      {"optimizer.scale_lr", {"none", "linear", "sqrt"}},
      {"schedule.name", {"constant", "step", "multistep", "cosine"}},
      {"comm.strategy", {"auto", "allreduce"}},
      {"comm.bind", {"auto", "keep", "none"}}};
  for (const auto& [key, values] : spellings) {
    for (const std::string& value : values) {
      EXPECT_TRUE(accepts(key, value)) << key << " = " << value;
      EXPECT_EQ(table_.find(key)->print(), value) << key;
    }
  }
}

TEST_F(OptionTableTest, ListsAreSeparatedByCommasAndMayBeEmpty) {
  EXPECT_TRUE(accepts("data.mean", "0.1, -0.2,0.3"));
  EXPECT_THAT(config_.data.mean, ElementsAre(0.1, -0.2, 0.3));
  EXPECT_TRUE(accepts("data.mean", "7"));
  EXPECT_THAT(config_.data.mean, ElementsAre(7));
  EXPECT_TRUE(accepts("data.mean", ""));
  EXPECT_THAT(config_.data.mean, ElementsAre());
  EXPECT_TRUE(accepts("model.hidden", "64,32"));
  EXPECT_THAT(config_.model.hidden, ElementsAre(64, 32));
  for (const char* bad : {",", "1,", ",1", "1,,2", "1 2", "1;2", "1, two", "0", "8, -1", "1.5"}) {
    EXPECT_FALSE(accepts("model.hidden", bad)) << bad;
  }
  EXPECT_THAT(config_.model.hidden, ElementsAre(64, 32));
}

TEST_F(OptionTableTest, TextsAreWhatADeckLineCanHold) {
  for (const char* good : {"", "a b", "path#1", "a=b", "a\tb", "d\xC3\xA4ta", "[x]", "\"q\""}) {
    EXPECT_TRUE(accepts("data.path", good)) << good;
    EXPECT_EQ(config_.data.path, good);
  }
  for (const char* bad : {" a", "a ", "\ta", "a #b", "a\t#b", "#a", "a\nb", "a\rb", "a\x01", "a\x7f"}) {
    EXPECT_FALSE(accepts("data.path", bad)) << bad;
  }
  EXPECT_FALSE(accepts("data.path", std::string("a\0b", 3)));
  EXPECT_FALSE(accepts("model.name", ""));
}

TEST_F(OptionTableTest, ErrorNamesPlaceKeyValueAndExpectation) {
  EXPECT_EQ(caught([&] { table_.set("train.epochs", "ten", "deck.ini:12"); }).message,
            "deck.ini:12: train.epochs = ten: expected an integer from 1 to 1000000");
  EXPECT_EQ(caught([&] { table_.set("optimizer.momentum", "1", "--set"); }).message,
            "--set: optimizer.momentum = 1: expected a number in [0, 1)");
  EXPECT_EQ(caught([&] { table_.set("optimizer.lr", "0", "--set"); }).message,
            "--set: optimizer.lr = 0: expected a number > 0");
}

TEST_F(OptionTableTest, ErrorKeepsToOneShortLine) {
  const auto error = caught([&] { table_.set("train.epochs", "1\n2" + std::string(1000, 'x'), "--set"); });
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
  EXPECT_LT(error.message.size(), 200U);
}

TEST_F(OptionTableTest, UnknownKeyGetsTheNearestKnownOne) {
  const auto misspelt = caught([&] { table_.set("optimizer.lrr", "1", "deck.ini:3"); });
  EXPECT_EQ(misspelt.message, "deck.ini:3: unknown key optimizer.lrr");
  EXPECT_EQ(misspelt.hint, "did you mean optimizer.lr?");
  EXPECT_EQ(caught([&] { table_.set("train.lr", "1", "--set"); }).hint, "did you mean optimizer.lr?");
  EXPECT_EQ(caught([&] { table_.set("name", "1", "--set"); }).hint,
            "did you mean model.name, optimizer.name or schedule.name?");
  EXPECT_EQ(caught([&] { table_.set("entirely.elsewhere", "1", "--set"); }).hint, "");
}

}  // namespace
}  // namespace kolo::config
