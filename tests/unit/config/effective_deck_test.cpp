#include "kolo/config/effective_deck.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kolo/config/load.hpp"
#include "kolo/config/option_table.hpp"

namespace kolo::config {
namespace {

Config read_back(const std::string& text) {
  Config config;
  OptionTable table(config);
  for (const DeckEntry& entry : parse_deck(text, "d").entries)
    table.set(entry.key, entry.value, "d");
  return config;
}

TEST(EffectiveDeck, DefaultsLoadAgainUnchanged) {
  EXPECT_EQ(load_config({}, DeckText{"d", effective_deck(Config{})}).config, Config{});
}

TEST(EffectiveDeck, HoldsEveryKeyOnce) {
  Config config;
  const OptionTable table(config);
  const Deck deck = parse_deck(effective_deck(config), "d");
  ASSERT_EQ(deck.entries.size(), table.options().size());
  for (std::size_t i = 0; i < deck.entries.size(); ++i) {
    EXPECT_EQ(deck.entries[i].key, table.options()[i].key());
  }
}

// Any finite double: random bits, so subnormals and the extremes of the exponent come up.
double random_double(std::mt19937_64& random) {
  while (true) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) return value;
  }
}

std::string random_text(std::mt19937_64& random) {
  const std::string alphabet = " #=[]\t,ab.\xC3\xA4\"'";
  std::string text(random() % 8, ' ');
  for (char& c : text)
    c = alphabet[random() % alphabet.size()];
  return text;
}

// Offers random texts of every kind to every key; what a key accepts is the random configuration.
Config random_config(std::mt19937_64& random) {
  Config config;
  OptionTable table(config);
  for (const Option& option : table.options()) {
    for (int i = 0; i < 8; ++i)
      option.assign(random_text(random));
    const std::string number = std::to_string(random() % 2000);
    option.assign(number);
    option.assign(number + ", 3");
    Config other;
    OptionTable source(other);
    other.optimizer.lr = random_double(random);
    option.assign(source.find("optimizer.lr")->print());
    other.optimizer.lr = static_cast<double>(random() >> 11) * 0x1p-53;
    option.assign(source.find("optimizer.lr")->print());
    other.data.mean = {random_double(random), random_double(random)};
    option.assign(source.find("data.mean")->print());
  }
  config.run.dtype = random() % 2 == 0 ? Dtype::fp32 : Dtype::fp64;
  config.schedule.name = random() % 2 == 0 ? ScheduleName::step : ScheduleName::cosine;
  return config;
}

TEST(EffectiveDeck, RandomConfigurationsComeBackIdentical) {
  std::mt19937_64 random(7);
  int changed = 0;
  for (int round = 0; round < 60; ++round) {
    const Config config = random_config(random);
    changed += config.data.path.empty() ? 0 : 1;
    const std::string text = effective_deck(config);
    ASSERT_EQ(read_back(text), config) << text;
  }
  EXPECT_GT(changed, 30) << "the texts offered are hardly ever accepted";
}

TEST(EffectiveDeck, DoublesComeBackToTheLastBit) {
  std::mt19937_64 random(11);
  Config config;
  for (int i = 0; i < 20'000; ++i)
    config.data.mean.push_back(random_double(random));
  const Config back = read_back(effective_deck(config));
  ASSERT_EQ(back.data.mean.size(), config.data.mean.size());
  for (std::size_t i = 0; i < back.data.mean.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back.data.mean[i]),
              std::bit_cast<std::uint64_t>(config.data.mean[i]))
        << config.data.mean[i];
  }
}

}  // namespace
}  // namespace kolo::config
