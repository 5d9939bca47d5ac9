#include "kolo/config/load.hpp"

#include <gmock/gmock.h>

#include "errors.hpp"

namespace kolo::config {
namespace {

using test::caught;
using testing::ElementsAre;
using testing::HasSubstr;

LoadedConfig load(const std::string& deck, std::vector<std::string> sets = {}) {
  CommandLine line;
  line.sets = std::move(sets);
  return load_config(line, DeckText{"deck.ini", deck});
}

test::Caught error_of(const std::string& deck, const std::vector<std::string>& sets = {}) {
  return caught([&] { load(deck, sets); });
}

TEST(Load, WithoutDeckAndSetsGivesTheDefaults) {
  EXPECT_EQ(load_config({}, std::nullopt).config, Config{});
  EXPECT_EQ(load("").config, Config{});
}

TEST(Load, SetGoesOverDeckOverDefaults) {
  const LoadedConfig loaded = load("[train]\nepochs = 3\nmax_steps = 5", {"train.epochs=4"});
  EXPECT_EQ(loaded.config.train.epochs, 4);
  EXPECT_EQ(loaded.config.train.max_steps, 5);
  EXPECT_EQ(loaded.config.train.accumulate, Config{}.train.accumulate);
}

TEST(Load, OriginsSayWhereAKeyWasSet) {
  const LoadedConfig loaded = load("[train]\nepochs = 3\nmax_steps = 5", {"train.epochs=4"});
  EXPECT_EQ(loaded.origin("train.epochs"), "--set");
  EXPECT_EQ(loaded.origin("train.max_steps"), "deck.ini:3");
  EXPECT_EQ(loaded.origin("train.accumulate"), "default");
  EXPECT_TRUE(loaded.is_set("train.epochs"));
  EXPECT_FALSE(loaded.is_set("train.accumulate"));
}

TEST(Load, CallersDefaultsStandWhereNothingIsSet) {
  Config defaults;
  defaults.optimizer.weight_decay = 5e-4;
  defaults.optimizer.lr = 0.5;
  CommandLine line;
  line.sets = {"optimizer.lr=0.25"};
  const LoadedConfig loaded = load_config(line, std::nullopt, defaults);
  EXPECT_EQ(loaded.config.optimizer.weight_decay, 5e-4);
  EXPECT_EQ(loaded.config.optimizer.lr, 0.25);
}

TEST(Load, SetToleratesBlanksAndKeepsFurtherEqualsSigns) {
  const LoadedConfig loaded =
      load("", {" optimizer.lr = 0.1 ", "data.path=a=b", "data.format=idx", "model.hidden="});
  EXPECT_EQ(loaded.config.optimizer.lr, 0.1);
  EXPECT_EQ(loaded.config.data.path, "a=b");
  EXPECT_THAT(loaded.config.model.hidden, ElementsAre());
}

TEST(Load, BadValueNamesItsLine) {
  EXPECT_EQ(error_of("[train]\n\nepochs = ten").message,
            "deck.ini:3: train.epochs = ten: expected an integer from 1 to 1000000");
}

TEST(Load, BadDeckValueIsRefusedThoughItIsOverridden) {
  EXPECT_THAT(error_of("[train]\nepochs = ten", {"train.epochs=3"}).message, HasSubstr("deck.ini:2"));
}

TEST(Load, BadSetIsRefused) {
  EXPECT_EQ(error_of("", {"optimizer.lr"}).message, "--set optimizer.lr: expected section.key=value");
  EXPECT_EQ(error_of("", {"=3"}).message, "--set =3: expected section.key=value");
  EXPECT_EQ(error_of("", {""}).message, "--set : expected section.key=value");
  EXPECT_EQ(error_of("", {"optimizer.lrr=3"}).message, "--set: unknown key optimizer.lrr");
  EXPECT_EQ(error_of("", {"optimizer.lrr=3"}).hint, "did you mean optimizer.lr?");
  EXPECT_EQ(error_of("", {"train.epochs=0"}).message,
            "--set: train.epochs = 0: expected an integer from 1 to 1000000");
  EXPECT_THAT(error_of("", {"data.path=a #b"}).message, HasSubstr("--set: data.path = a #b: expected text"));
}

TEST(Load, RepeatedSetIsRefused) {
  EXPECT_EQ(error_of("", {"train.epochs=3", "train.epochs=4"}).message, "--set: repeated key train.epochs");
}

TEST(CrossCheck, WarmUpMustFitIntoTheRun) {
  EXPECT_EQ(error_of("[train]\nepochs = 5\n[schedule]\nwarmup_epochs = 5.5").message,
            "deck.ini:4: schedule.warmup_epochs = 5.5: expected at most train.epochs = 5");
  EXPECT_NO_THROW(load("[train]\nepochs = 5\n[schedule]\nwarmup_epochs = 5"));
}

TEST(CrossCheck, MultistepNeedsMilestones) {
  EXPECT_THAT(error_of("[schedule]\nname = multistep").message,
              HasSubstr("deck.ini:2: schedule.name = multistep: expected schedule.milestones"));
  EXPECT_NO_THROW(load("[schedule]\nname = multistep\nmilestones = 3, 7.5"));
}

TEST(CrossCheck, MilestonesMustIncrease) {
  for (const char* bad : {"3, 2", "3, 3", "1, 5, 4"}) {
    EXPECT_THAT(error_of(std::string("[schedule]\nname = multistep\nmilestones = ") + bad).message,
                HasSubstr("deck.ini:3: schedule.milestones"))
        << bad;
  }
}

TEST(CrossCheck, CosineMustNotEndAboveItsStart) {
  EXPECT_EQ(error_of("[optimizer]\nlr = 0.1\n[schedule]\nname = cosine\nmin_lr = 0.2").message,
            "deck.ini:5: schedule.min_lr = 0.2: expected at most optimizer.lr = 0.1");
}

TEST(CrossCheck, NesterovNeedsMomentum) {
  EXPECT_EQ(error_of("[optimizer]\nnesterov = yes\nmomentum = 0").message,
            "deck.ini:2: optimizer.nesterov = true: expected optimizer.momentum > 0 with it");
  EXPECT_NO_THROW(load("[optimizer]\nnesterov = yes"));
}

TEST(CrossCheck, ScalingNeedsAReferenceBatch) {
  EXPECT_THAT(error_of("", {"optimizer.scale_lr=sqrt"}).message,
              HasSubstr("--set: optimizer.scale_lr = sqrt: expected optimizer.reference_batch"));
  EXPECT_NO_THROW(load("", {"optimizer.scale_lr=sqrt", "optimizer.reference_batch=128"}));
}

TEST(CrossCheck, FilesNeedAPath) {
  for (const char* format : {"idx", "cifar10", "cifar100", "hdf5"}) {
    const std::string deck = std::string("[data]\nformat = ") + format;
    EXPECT_THAT(error_of(deck).message, HasSubstr("expected data.path")) << format;
    EXPECT_NO_THROW(load(deck + "\npath = somewhere")) << format;
  }
}

TEST(CrossCheck, PathNeedsAFormatUnlessSyntheticIsAskedFor) {
  EXPECT_THAT(error_of("[data]\npath = somewhere").message, HasSubstr("expected data.format"));
  EXPECT_NO_THROW(load("[data]\npath = somewhere\nformat = synthetic"));
}

}  // namespace
}  // namespace kolo::config
