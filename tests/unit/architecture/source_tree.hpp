// The project's own files as lines and #include directives, by path relative to the root.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kolo::test {

struct Include {
  std::size_t line;    ///< from 1
  std::string target;  ///< what stands between the quotes or angle brackets
};

struct SourceFile {
  std::vector<std::string> lines;
  std::vector<Include> includes;  ///< of C++ files only

  bool is_header = false;
  bool is_cpp = false;  ///< a header or a source
};

/// Path relative to the root, with '/' -> file.  Ordered, so that reports are too.
using SourceTree = std::map<std::string, SourceFile>;

/// Reads C++, CMake, shell, Python and deck files of the project's folders below `root`; build folders are
/// not among them.
SourceTree read_source_tree(const std::filesystem::path& root);

/// "include/kolo/io/x.hpp", "src/io/x.cpp" -> "io"; "src/main.cpp" -> "app"; empty for other files.
std::string module_of_file(const std::string& path);

/// The path of the file that `includer` means by `target`, or an empty string when it is none of the tree's.
std::string resolve_include(const SourceTree& tree, const std::string& includer, const std::string& target);

}  // namespace kolo::test
