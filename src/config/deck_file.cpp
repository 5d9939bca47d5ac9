#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "kolo/config/deck.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"

namespace kolo::config {

DeckText read_deck_file(const std::filesystem::path& path) {
  // A data file or a device given by mistake is refused before it fills the memory.
  constexpr std::streamsize kLargest = 1 << 20;
  const std::string name = printable(path.string());
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw ConfigError(fmt::format("{}: found a directory: expected a deck file", name));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw ConfigError(
        fmt::format("{}: cannot open the deck: {}", name, std::generic_category().message(errno)));
  }
  std::string text(static_cast<std::size_t>(kLargest) + 1, '\0');
  in.read(text.data(), kLargest + 1);
  if (in.bad()) {
    throw ConfigError(
        fmt::format("{}: cannot read the deck: {}", name, std::generic_category().message(errno)));
  }
  if (in.gcount() > kLargest) {
    throw ConfigError(fmt::format("{}: found more than {} bytes: expected a deck file", name, kLargest));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return {name, std::move(text)};
}

}  // namespace kolo::config
