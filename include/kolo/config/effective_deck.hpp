// The configuration in force, written as a deck: what a run stores as config.ini.
//
// Every key is there, with its help and accepted values as a comment.  Reading it back gives an identical
// Config: numbers are printed with as many digits as it takes, and the option table accepts no text that a
// deck line cannot carry.
#pragma once

#include <string>

#include "kolo/config/config.hpp"

namespace kolo::config {

std::string effective_deck(const Config& config);

}  // namespace kolo::config
