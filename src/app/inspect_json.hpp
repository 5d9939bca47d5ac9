// The report of `kolo inspect` for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kolo/io/inspect.hpp"
#include "kolo/util/error.hpp"

namespace kolo::app {

/// What a report says about the deck in a checkpoint.
struct DeckSummary {
  std::size_t keys = 0;
  std::vector<std::pair<std::string, std::string>> shown;  ///< those that tell runs apart at a glance
  std::string error;                                       ///< why this kolo cannot read it; else empty
};

DeckSummary summarize_deck(const std::string& text);

/// With "whole": true; `tensors` may be null: not asked for.
std::string inspect_json(const std::string& path, const io::KoloFile& file,
                         const std::vector<io::TensorFacts>* tensors);
/// With "whole": false and the reason.
std::string damaged_json(const std::string& path, const CheckpointError& error);

}  // namespace kolo::app
