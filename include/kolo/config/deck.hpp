// The deck: a text file of `[section]` headers and `key = value` lines.
//
// A '#' at the start of a line or after white space begins a comment; elsewhere it is part of the value, as
// are '=' and blanks between words.  CRLF line ends and a UTF-8 byte order mark are tolerated.  A reader of
// our own because Boost's INI parser keeps no line numbers and cuts values at any '#'.  A Deck's keys are
// known and none is there twice; its values are still text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kolo::config {

/// A deck as it was read, so that one rank can read it and send it to the others.
struct DeckText {
  std::string name;  ///< what messages call it
  std::string text;
};

struct DeckEntry {
  std::string key;    ///< "section.key"
  std::string value;  ///< without surrounding blanks; may be empty
  int line;           ///< from 1
};

struct Deck {
  std::string name;
  std::vector<DeckEntry> entries;  ///< in the order of the text
};

/// Reads the whole file; `name` is the path as given.  Throws ConfigError when it is missing, unreadable, a
/// directory or larger than any deck is.
DeckText read_deck_file(const std::filesystem::path& path);

/// Throws ConfigError, "<name>:<line>: ...", for the first line that is not of a deck or names no known key.
Deck parse_deck(const std::string& text, const std::string& name);

}  // namespace kolo::config
