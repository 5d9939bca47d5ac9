// Which kolo this is.
#pragma once

namespace kolo::app {

const char* version();  ///< "0.1.0"
const char*
git_state();  ///< short commit id, "-dirty" when files differ from it; "unknown" outside a checkout
const char* build_switches();  ///< compiler and build type

}  // namespace kolo::app
