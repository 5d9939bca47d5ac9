#include "kolo/app/json_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kolo/comm/agree.hpp"
#include "kolo/io/atomic_file.hpp"

namespace kolo::app {
namespace {

namespace fs = std::filesystem;

bool is_asked_for(const RunContext& run) { return run.is_root() && !run.command_line.json.empty(); }

// A pipe or a device is written to; it must not be replaced by a file.
bool is_special(const fs::path& path) { return fs::exists(path) && !fs::is_regular_file(path); }

[[noreturn]] void refuse(const std::string& path, const std::string& where) {
  throw ConfigError(fmt::format("--json {}: cannot write to {}: {}", path, where, std::strerror(errno)));
}

}  // namespace

void require_writable(const std::string& path) {
  if (fs::is_directory(path))
    throw ConfigError(fmt::format("--json {}: is a directory, expected a file", path));
  if (is_special(path)) {
    if (access(path.c_str(), W_OK) != 0) refuse(path, "it");
    return;
  }
  const fs::path parent = fs::weakly_canonical(fs::absolute(path)).parent_path();
  if (access(parent.c_str(), W_OK) != 0) refuse(path, parent.string());
}

void write_report(const std::string& path, const std::string& json) {
  if (!is_special(path)) {
    io::write_atomically(fs::weakly_canonical(fs::absolute(path)), json);  // what a link points to
    return;
  }
  std::ofstream file(path);
  file << json << std::flush;
  if (!file) throw ConfigError(fmt::format("--json {}: cannot write: {}", path, std::strerror(errno)));
}

void require_writable_json(const RunContext& run) {
  comm::agree(run.world(), [&] {
    if (is_asked_for(run)) require_writable(run.command_line.json);
  });
}

void write_json(const RunContext& run, const std::string& json) {
  comm::agree(run.world(), [&] {
    if (is_asked_for(run)) write_report(run.command_line.json, json);
  });
}

}  // namespace kolo::app
