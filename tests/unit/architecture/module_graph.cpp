#include "module_graph.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

namespace kolo::test {
namespace {

Module parse_module(const std::string& arguments) {
  std::istringstream words(arguments);
  Module module;
  words >> module.name;
  bool in_links = false;
  for (std::string word; words >> word;) {
    if (in_links) {
      module.links.push_back(word);
    } else if (word == "LINK") {
      in_links = true;
    } else if (word == "TORCH") {
      module.torch = true;
    }
  }
  return module;
}

/// The same text with comments blanked, so that positions still tell the line.
std::string without_comments(std::string_view text) {
  std::string result(text);
  bool in_comment = false;
  for (char& c : result) {
    if (c == '\n') in_comment = false;
    if (c == '#') in_comment = true;
    if (in_comment) c = ' ';
  }
  return result;
}

}  // namespace

ModuleGraph::ModuleGraph(std::string_view cmake_text) {
  const std::string text = without_comments(cmake_text);
  const std::regex call(R"(\bkolo_module\s*\(([^)]*)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    Module module = parse_module((*it)[1].str());
    const auto newlines = std::count(text.begin(), text.begin() + it->position(), '\n');
    module.line = static_cast<std::size_t>(newlines) + 1;
    modules_.push_back(std::move(module));
  }
}

const Module* ModuleGraph::find(std::string_view name) const {
  const auto found = std::ranges::find(modules_, name, &Module::name);
  return found == modules_.end() ? nullptr : &*found;
}

std::set<std::string> ModuleGraph::reachable(std::string_view name) const {
  std::set<std::string> seen;
  std::vector<std::string> open = {"kolo_" + std::string(name)};
  while (!open.empty()) {
    const std::string target = open.back();
    open.pop_back();
    if (!seen.insert(target).second) continue;
    if (const Module* module = find(module_of_target(target))) {
      open.insert(open.end(), module->links.begin(), module->links.end());
    }
  }
  return seen;
}

std::string module_of_target(std::string_view target) {
  constexpr std::string_view kPrefix = "kolo_";
  return target.starts_with(kPrefix) ? std::string(target.substr(kPrefix.size())) : std::string();
}

}  // namespace kolo::test
