// The rows of the option table, bound to a Config; for OptionTable's constructor only.
#pragma once

#include <vector>

#include "kolo/config/option_table.hpp"

namespace kolo::config {

/// The rows point into `config`.
std::vector<Option> option_rows(Config& config);

}  // namespace kolo::config
