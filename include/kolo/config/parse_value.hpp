// Text to typed value, by the rules that decks and command lines share.
//
// Boost.Program_options does the typing: its own validators for integers, numbers, booleans, strings and
// lists, and the one here for enums.  Unlike Boost, an empty text is no boolean.
#pragma once

#include <boost/any.hpp>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kolo/config/choices.hpp"

namespace kolo::config {

/// Boost finds this by argument-dependent lookup; the unused last two parameters select the overload.
template <Choosable E>
void validate(boost::any& parsed, const std::vector<std::string>& tokens, E*, int) {
  namespace po = boost::program_options;
  const std::string& text = po::validators::get_single_string(tokens);
  for (const Choice<E>& choice : kChoices<E>) {
    if (choice.name == text) {
      parsed = choice.value;
      return;
    }
  }
  throw po::validation_error(po::validation_error::invalid_option_value);
}

/// The value that `tokens` spell: one token, or any number for a vector.  Nothing when they spell none.
template <class T>
std::optional<T> parse_value(const std::vector<std::string>& tokens) {
  namespace po = boost::program_options;
  if constexpr (std::is_same_v<T, bool>) {
    if (tokens.front().empty()) return std::nullopt;
  }
  const std::unique_ptr<po::value_semantic> semantic(po::value<T>());
  boost::any parsed;
  try {
    semantic->parse(parsed, tokens, false);
  } catch (const po::error&) {
    return std::nullopt;
  }
  return boost::any_cast<T>(parsed);
}

}  // namespace kolo::config
