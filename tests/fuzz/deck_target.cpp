// Decks and --set values, up to the checked Config.
//
// Input: the deck's text, then values of --set, each after a byte 0xff (which no UTF-8 text has).  No text
// before the first 0xff: no deck.  A Config that loads must come back unchanged from its effective deck.
#include <cstdint>
#include <optional>
#include <string>

#include "fuzz/require.hpp"
#include "kolo/config/effective_deck.hpp"
#include "kolo/config/load.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::fuzz {
namespace {

struct Typed {
  config::CommandLine line;
  std::optional<config::DeckText> deck;
};

Typed split(std::string_view input) {
  Typed typed;
  typed.line.sets = util::split(input, '\xff');
  std::string text = std::move(typed.line.sets.front());
  typed.line.sets.erase(typed.line.sets.begin());
  if (!text.empty()) typed.deck = {"fuzz", std::move(text)};
  return typed;
}

void require_origin(std::string_view message) {
  require(message.starts_with("fuzz:") || message.starts_with("default:") || message.starts_with("--set"),
          "an error begins with where the value was written");
}

}  // namespace
}  // namespace kolo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kolo;
  const fuzz::Typed typed = fuzz::split({reinterpret_cast<const char*>(data), size});
  std::optional<config::LoadedConfig> loaded;
  try {
    loaded = config::load_config(typed.line, typed.deck);
  } catch (const ConfigError& error) {
    fuzz::require_printable(error.what());
    fuzz::require_origin(error.what());
    return 0;
  }
  const config::DeckText effective{"effective", config::effective_deck(loaded->config)};
  fuzz::require(config::load_config({}, effective).config == loaded->config,
                "the effective deck loads unchanged");
  return 0;
}
