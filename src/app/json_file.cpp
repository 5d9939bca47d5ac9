#include "kolo/app/json_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "kolo/comm/agree.hpp"
#include "kolo/io/atomic_file.hpp"

namespace kolo::app {
namespace {

bool is_asked_for(const RunContext& run) { return run.is_root() && !run.command_line.json.empty(); }

void require_writable(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw ConfigError(fmt::format("--json {}: is a directory, expected a file", path));
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  if (access(parent.c_str(), W_OK) == 0) return;
  throw ConfigError(
      fmt::format("--json {}: cannot write to {}: {}", path, parent.string(), std::strerror(errno)));
}

}  // namespace

void require_writable_json(const RunContext& run) {
  comm::agree(run.world(), [&] {
    if (is_asked_for(run)) require_writable(run.command_line.json);
  });
}

void write_json(const RunContext& run, const std::string& json) {
  comm::agree(run.world(), [&] {
    if (is_asked_for(run)) io::write_atomically(run.command_line.json, json);
  });
}

}  // namespace kolo::app
