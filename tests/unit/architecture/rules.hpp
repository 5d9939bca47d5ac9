// The rules of the design that neither the compiler nor the linker enforces.
//
// All headers share one include root and a static library needs no symbols to be misused, so an include that
// goes against the arrows of the module graph compiles; these rules read the sources and say where it
// happens.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "module_graph.hpp"
#include "source_tree.hpp"

namespace kolo::test {

struct Violation {
  std::string path;
  std::size_t line;
  std::string what;
};
std::ostream& operator<<(std::ostream& out, const Violation& violation);  // path:line: what

using Violations = std::vector<Violation>;

/// A module links only modules declared above it, and only a TORCH module links a TORCH module.
Violations check_module_order(const ModuleGraph& graph);
/// kolo headers, and those of the libraries, are included only by files whose module links their target.
Violations check_includes_follow_links(const SourceTree& tree, const ModuleGraph& graph);
/// libtorch's headers are included by TORCH modules only.
Violations check_torch_stays_in_torch_modules(const SourceTree& tree, const ModuleGraph& graph);
/// No source sees libtorch and spdlog together, not through headers either: they bring different versions of
/// fmt.
Violations check_torch_never_meets_spdlog(const SourceTree& tree);
/// src/main.cpp is a table of contents: fewer than 80 lines.
Violations check_main_is_short(const SourceTree& tree);
/// A public header opens with a comment; every header has #pragma once.
Violations check_headers(const SourceTree& tree);
/// No tab characters and no marks of unfinished work.
Violations check_text(const SourceTree& tree);

}  // namespace kolo::test
