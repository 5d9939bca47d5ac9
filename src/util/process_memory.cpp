#include "kolo/util/process_memory.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace kolo::util {

std::optional<ProcessMemory> process_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::optional<double> total, shared, files;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0;
    if (!(words >> name >> kibibytes)) continue;
    if (name == "Pss:") total = kibibytes * 1024;
    if (name == "Pss_Shmem:") shared = kibibytes * 1024;
    if (name == "Pss_File:") files = kibibytes * 1024;
  }
  if (!total || !shared) return std::nullopt;
  return ProcessMemory{*total, *shared, files.value_or(0)};
}

std::optional<std::int64_t> out_of_memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return std::nullopt;
}

}  // namespace kolo::util
