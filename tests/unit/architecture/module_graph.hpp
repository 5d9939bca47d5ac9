// The modules as CMakeLists.txt declares them: which target may see which.
//
// Read from the kolo_module(...) lines themselves, so that the rules below need no second list to be kept up
// to date.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kolo::test {

struct Module {
  std::string name;
  bool torch = false;              ///< may include libtorch
  std::vector<std::string> links;  ///< targets it names itself, e.g. "kolo_util", "MPI::MPI_C"
  std::size_t line = 0;            ///< of CMakeLists.txt
};

class ModuleGraph {
 public:
  explicit ModuleGraph(std::string_view cmake_text);

  /// In the order of their declaration.
  const std::vector<Module>& modules() const { return modules_; }
  /// Null when there is no such module.
  const Module* find(std::string_view name) const;
  /// Everything a module links, directly or through other modules; its own target is among it.
  std::set<std::string> reachable(std::string_view name) const;

 private:
  std::vector<Module> modules_;
};

/// "kolo_util" -> "util"; empty for a target that is no module's.
std::string module_of_target(std::string_view target);

}  // namespace kolo::test
