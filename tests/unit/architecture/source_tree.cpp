#include "source_tree.hpp"

#include <fstream>
#include <regex>
#include <set>

namespace kolo::test {
namespace {

namespace fs = std::filesystem;

SourceFile read_source_file(const fs::path& path) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*["<]([^">]+)[">])re");
  SourceFile file;
  file.is_header = path.extension() == ".hpp";
  file.is_cpp = file.is_header || path.extension() == ".cpp";
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    file.lines.push_back(line);
    std::smatch match;
    if (file.is_cpp && std::regex_search(line, match, kInclude)) {
      file.includes.push_back({file.lines.size(), match[1].str()});
    }
  }
  return file;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".cpp", ".hpp", ".h",  ".cmake",
                                                    ".txt", ".sh",  ".py", ".ini"};
  return kExtensions.contains(path.extension().string());
}

}  // namespace

SourceTree read_source_tree(const fs::path& root) {
  SourceTree tree;
  for (const char* name : {"include", "src", "tests", "cmake", "jobs", "input"}) {
    if (!fs::is_directory(root / name)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / name)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      tree[entry.path().lexically_relative(root).generic_string()] = read_source_file(entry.path());
    }
  }
  return tree;
}

std::string module_of_file(const std::string& path) {
  static const std::regex kModuleFile("^(?:include/kolo|src)/([^/]+)/.*");
  if (path == "src/main.cpp") return "app";
  std::smatch match;
  return std::regex_match(path, match, kModuleFile) ? match[1].str() : std::string();
}

std::string resolve_include(const SourceTree& tree, const std::string& includer, const std::string& target) {
  const fs::path beside = fs::path(includer).parent_path() / target;
  for (const fs::path& candidate : {beside, "include" / fs::path(target), "tests" / fs::path(target)}) {
    const std::string path = candidate.lexically_normal().generic_string();
    if (tree.contains(path)) return path;
  }
  return {};
}

}  // namespace kolo::test
