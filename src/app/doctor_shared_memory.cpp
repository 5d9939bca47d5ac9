// Room in /dev/shm, where MPI's messages and the shared exchange live.
#include <fmt/format.h>

#include "doctor_wording.hpp"
#include "kolo/app/doctor_findings.hpp"
#include "kolo/comm/shared_buffer.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

// Below this, MPI itself and the smallest models are at risk; containers start with as much.
constexpr std::int64_t kLeast = std::int64_t{64} << 20;

void judge_room(const HostFacts& host, const std::string& model, std::vector<Finding>& findings) {
  if (host.ranks == 1) return;  // nobody to share with
  const std::int64_t room = host.shared_memory.free_bytes;
  if (room < kLeast) {
    findings.push_back({Severity::error, "shared-memory",
                        fmt::format("{}: {} free of {} in /dev/shm, expected {} at least", host.name,
                                    bytes(room), bytes(host.shared_memory.bytes), bytes(kLeast)),
                        comm::SharedBuffer::kRoomHint});
  } else if (!host.lacks_room.empty()) {
    findings.push_back(
        {Severity::warning, "shared-memory",
         fmt::format("{}: the exchange of {} falls back to allreduce: {}", host.name, model, host.lacks_room),
         comm::SharedBuffer::kRoomHint});
  }
}

void judge_left_over(const HostFacts& host, std::vector<Finding>& findings) {
  std::int64_t total = 0;
  std::string fix = "if no job of yours runs on this node: rm";
  for (const comm::LeftOver& file : host.shared_memory.left_over) {
    total += file.bytes;
    fix += " " + file.path;
  }
  const auto count = static_cast<std::int64_t>(host.shared_memory.left_over.size());
  if (count == 0) return;
  findings.push_back({Severity::warning, "left-over",
                      fmt::format("{}: {} of dead runs {} {} of shared memory", host.name,
                                  counted(count, "file"), count == 1 ? "holds" : "hold", bytes(total)),
                      fix});
}

}  // namespace

std::vector<Finding> judge_shared_memory(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  for (const HostFacts& host : facts.hosts) {
    judge_room(host, facts.window_model, findings);
    judge_left_over(host, findings);
  }
  return findings;
}

}  // namespace kolo::app
