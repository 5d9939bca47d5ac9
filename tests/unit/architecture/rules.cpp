#include "rules.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <regex>
#include <set>

namespace kolo::test {
namespace {

bool is_torch_header(const std::string& target) {
  return target.starts_with("torch/") || target.starts_with("ATen/") || target.starts_with("c10/");
}

bool is_spdlog_header(const std::string& target) { return target.starts_with("spdlog/"); }

/// The target that an included header belongs to; empty for the standard library and others.
std::string target_of_header(const std::string& header) {
  static const std::map<std::string, std::string> kLibraries = {
      {"mpi.h", "MPI::MPI_C"},
      {"hdf5.h", "HDF5::HDF5"},
      {"hwloc.h", "PkgConfig::hwloc"},
      {"hwloc/", "PkgConfig::hwloc"},
      {"zlib.h", "ZLIB::ZLIB"},
      {"xxhash.h", "PkgConfig::xxhash"},
      {"spdlog/", "spdlog::spdlog"},
      {"boost/", "Boost::program_options"},
      {"nlohmann/", "nlohmann_json::nlohmann_json"},
  };
  static const std::regex kKolo("^kolo/([^/]+)/.*");
  std::smatch match;
  if (std::regex_match(header, match, kKolo)) return "kolo_" + match[1].str();
  for (const auto& [prefix, target] : kLibraries) {
    if (prefix.ends_with('/') ? header.starts_with(prefix) : header == prefix) return target;
  }
  return {};
}

void check_includes_of(const std::string& path, const SourceFile& file, const std::set<std::string>& linked,
                       Violations& found) {
  for (const Include& include : file.includes) {
    if (include.target.find("../") != std::string::npos) {
      found.push_back(
          {path, include.line, "includes \"" + include.target + "\" by a path that leaves its folder"});
    }
    const std::string target = target_of_header(include.target);
    if (!target.empty() && !linked.contains(target)) {
      found.push_back({path, include.line,
                       "includes " + include.target + ", but module " + module_of_file(path) +
                           " does not link " + target});
    }
  }
}

/// Whether a file, or one it includes, includes a header for which `wanted` holds.
bool sees(const SourceTree& tree, const std::string& start, bool (*wanted)(const std::string&)) {
  std::set<std::string> seen;
  std::vector<std::string> open = {start};
  while (!open.empty()) {
    const std::string path = open.back();
    open.pop_back();
    if (!seen.insert(path).second) continue;
    for (const Include& include : tree.at(path).includes) {
      if (wanted(include.target)) return true;
      const std::string next = resolve_include(tree, path, include.target);
      if (!next.empty()) open.push_back(next);
    }
  }
  return false;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Violation& violation) {
  return out << violation.path << ':' << violation.line << ": " << violation.what;
}

Violations check_module_order(const ModuleGraph& graph) {
  Violations found;
  std::set<std::string> above;
  for (const Module& module : graph.modules()) {
    for (const std::string& link : module.links) {
      const std::string linked = module_of_target(link);
      if (linked.empty()) continue;
      if (!above.contains(linked)) {
        found.push_back({"CMakeLists.txt", module.line,
                         "module " + module.name + " links " + link + ", which is not declared above it"});
      } else if (graph.find(linked)->torch && !module.torch) {
        found.push_back({"CMakeLists.txt", module.line,
                         "module " + module.name + " is not TORCH but links " + link + ", which is"});
      }
    }
    above.insert(module.name);
  }
  return found;
}

Violations check_includes_follow_links(const SourceTree& tree, const ModuleGraph& graph) {
  Violations found;
  for (const auto& [path, file] : tree) {
    const std::string module = module_of_file(path);
    if (module.empty()) continue;
    if (graph.find(module) == nullptr) {
      found.push_back({path, 1, "is in folder " + module + ", which is no module of CMakeLists.txt"});
      continue;
    }
    check_includes_of(path, file, graph.reachable(module), found);
  }
  return found;
}

Violations check_torch_stays_in_torch_modules(const SourceTree& tree, const ModuleGraph& graph) {
  Violations found;
  for (const auto& [path, file] : tree) {
    const Module* module = graph.find(module_of_file(path));
    if (module == nullptr || module->torch) continue;
    for (const Include& include : file.includes) {
      if (!is_torch_header(include.target)) continue;
      found.push_back({path, include.line, "includes " + include.target + ", but its module is not TORCH"});
    }
  }
  return found;
}

Violations check_torch_never_meets_spdlog(const SourceTree& tree) {
  Violations found;
  for (const auto& [path, file] : tree) {
    if (!file.is_cpp || !sees(tree, path, is_torch_header)) continue;
    for (const Include& include : file.includes) {
      const std::string next = resolve_include(tree, path, include.target);
      if (is_spdlog_header(include.target) || (!next.empty() && sees(tree, next, is_spdlog_header))) {
        found.push_back(
            {path, include.line, "brings spdlog by " + include.target + " to a file that sees libtorch"});
      }
    }
  }
  return found;
}

Violations check_main_is_short(const SourceTree& tree) {
  constexpr std::size_t kLimit = 80;
  const auto main_file = tree.find("src/main.cpp");
  if (main_file == tree.end() || main_file->second.lines.size() < kLimit) return {};
  return {{"src/main.cpp", kLimit, "has 80 lines or more"}};
}

Violations check_headers(const SourceTree& tree) {
  Violations found;
  for (const auto& [path, file] : tree) {
    if (!file.is_header) continue;
    if (std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
      found.push_back({path, 1, "has no #pragma once"});
    }
    if (path.starts_with("include/") && (file.lines.empty() || !file.lines.front().starts_with("// "))) {
      found.push_back({path, 1, "does not open with a comment that says what it is for"});
    }
  }
  return found;
}

Violations check_text(const SourceTree& tree) {
  // Written in two parts, so that this file does not hold what it looks for.
  static const std::regex kUnfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  Violations found;
  for (const auto& [path, file] : tree) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].find('\t') != std::string::npos) found.push_back({path, i + 1, "has a tab"});
      if (std::regex_search(file.lines[i], kUnfinished)) {
        found.push_back({path, i + 1, "has a mark of unfinished work"});
      }
    }
  }
  return found;
}

}  // namespace kolo::test
