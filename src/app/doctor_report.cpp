#include "kolo/app/doctor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doctor_wording.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

constexpr double kGiga = 1e9;

std::string line(std::string_view topic, const std::string& text) {
  return fmt::format("  {:<14}{}", topic, text);
}

void add_host(const HostFacts& host, std::vector<std::string>& lines) {
  const comm::Machine& machine = host.machine;
  lines.push_back(
      line("host", fmt::format("{}: {}, {}, {}, {}, {}", host.name, machine.processor,
                               counted(machine.sockets, "socket"), counted(machine.numa_nodes, "NUMA node"),
                               counted(machine.cores, "core"), counted(machine.threads, "hardware thread"))));
  const auto& limits = machine.limits;
  const bool limited = limits.memory_bytes && *limits.memory_bytes < machine.memory_bytes;
  lines.push_back(
      line("", fmt::format("{} for this job; CPU quota {}; GPUs {}",
                           counted(static_cast<std::int64_t>(machine.usable_cores.size()), "core"),
                           limits.cpus ? fmt::format("{:g} cores", *limits.cpus) : "none",
                           machine.gpus == 0 ? "none" : std::to_string(machine.gpus))));
  lines.push_back(line("memory", fmt::format("{}, {} available{}; huge pages {}", bytes(machine.memory_bytes),
                                             bytes(machine.available_bytes),
                                             limited ? ", limited to " + bytes(*limits.memory_bytes) : "",
                                             machine.huge_pages.empty() ? "none" : machine.huge_pages)));
}

void add_shared_memory(const HostFacts& host, const std::string& model, std::vector<std::string>& lines) {
  const comm::SharedMemory& memory = host.shared_memory;
  const auto count = static_cast<std::int64_t>(memory.left_over.size());
  const std::string left = memory.hidden_processes > 0
                               ? fmt::format("unknown ({} of this user cannot be looked into)",
                                             counted(memory.hidden_processes, "process", "processes"))
                           : count == 0 ? "nothing"
                                        : counted(count, "file");
  const std::string need =
      host.window_bytes == 0 || host.ranks == 1
          ? ""
          : fmt::format("; the shared exchange of {} takes {}", model, bytes(host.window_bytes));
  lines.push_back(
      line("shared memory", fmt::format("/dev/shm {}, {} free{}; left over from dead runs: {}",
                                        bytes(memory.bytes), bytes(memory.free_bytes), need, left)));
}

std::string describe_mpi(const comm::MpiFacts& mpi) {
  std::string text = fmt::format("{}, thread level {}", mpi.library, mpi.thread_level);
  if (!mpi.messaging.empty()) text += ", messages by " + util::join(mpi.messaging, ", ");
  if (!mpi.transports.empty()) text += ", transports " + util::join(mpi.transports, ", ");
  if (!mpi.single_copy.empty()) text += ", single copy " + mpi.single_copy;
  return text;
}

// Hosts that differ from the first one are worth a line of their own.
void add_mpi(const std::vector<HostFacts>& hosts, std::vector<std::string>& lines) {
  const std::string first = describe_mpi(hosts.front().mpi);
  lines.push_back(line("MPI", first));
  const std::vector<std::string>& settings = hosts.front().mpi.settings;
  if (!settings.empty()) lines.push_back(line("", util::join(settings, " ")));
  for (const HostFacts& host : hosts) {
    if (const std::string text = describe_mpi(host.mpi); text != first)
      lines.push_back(line("", host.name + ": " + text));
  }
}

void add_launch(const LaunchFacts& launch, std::vector<std::string>& lines) {
  std::string text = launch.source.empty()
                         ? "no launcher"
                         : fmt::format("{} by {}, {}", counted(launch.tasks, "task"), launch.source,
                                       launch.bound_by_launcher ? "each bound by the launcher" : "not bound");
  text += fmt::format("; binding {}; ", launch.binding);
  text += launch.slurm_job.empty() ? "no Slurm" : fmt::format("Slurm job {}", launch.slurm_job);
  if (!launch.slurm_step.empty()) text += " step " + launch.slurm_step;
  lines.push_back(
      line("launch", text + "; container " + (launch.container.empty() ? "none" : launch.container)));
}

// The geometric mean over products and convolutions of all ranks.
std::string compare_bf16(const std::vector<RankFacts>& ranks) {
  double logarithms = 0;
  for (const RankFacts& rank : ranks) {
    const RankSpeed& speed = rank.speed;
    if (std::min({speed.product_fp32, speed.product_bf16, speed.convolution_fp32, speed.convolution_bf16}) <=
        0)
      return "not measured";
    logarithms += std::log(speed.product_bf16 / speed.product_fp32) +
                  std::log(speed.convolution_bf16 / speed.convolution_fp32);
  }
  const double ratio = std::exp(logarithms / (2 * static_cast<double>(ranks.size())));
  return fmt::format("bf16 is {:.1f}x of fp32 here", ratio);
}

void add_ranks(const std::vector<RankFacts>& ranks, std::vector<std::string>& lines) {
  lines.push_back(line("ranks", fmt::format("{:>4}  {:<16} {:<12} {:>7}   {:>21}   {:>21}", "rank", "host",
                                            "cores", "threads", "product GFLOP/s", "convolution GFLOP/s")));
  lines.push_back(
      line("", fmt::format("{:>43}   {:>10} {:>10}   {:>10} {:>10}", "", "fp32", "bf16", "fp32", "bf16")));
  for (const RankFacts& rank : ranks) {
    const RankSpeed& speed = rank.speed;
    lines.push_back(
        line("", fmt::format("{:>4}  {:<16} {:<12} {:>7}   {:>10.1f} {:>10.1f}   {:>10.1f} {:>10.1f}",
                             rank.rank, rank.host, rank.core_list, rank.threads, speed.product_fp32 / kGiga,
                             speed.product_bf16 / kGiga, speed.convolution_fp32 / kGiga,
                             speed.convolution_bf16 / kGiga)));
  }
  lines.push_back(line("", compare_bf16(ranks)));
}

void add_exchanges(const DoctorFacts& facts, std::vector<std::string>& lines) {
  for (const HostFacts& host : facts.hosts) {
    lines.push_back(line("copying", fmt::format("{}: {:.1f} GB/s, all its ranks together, read plus written",
                                                host.name, host.copy_speed / kGiga)));
  }
  if (facts.exchanges.empty()) lines.push_back(line("exchange", "one rank: nothing to exchange"));
  for (const ExchangeFacts& exchange : facts.exchanges) {
    const std::string result =
        !exchange.failure.empty()
            ? exchange.failure
            : fmt::format("{:.2f} ms, {:.2f} GB/s busbw, sums {}", exchange.seconds * 1e3,
                          exchange.bus_speed / kGiga, exchange.correct ? "right" : "WRONG");
    lines.push_back(line("exchange", fmt::format("{:<9} 16 MiB of fp32: {}", exchange.strategy, result)));
  }
}

}  // namespace

std::vector<std::string> describe(const DoctorFacts& facts) {
  std::vector<std::string> lines = {"doctor:"};
  for (const HostFacts& host : facts.hosts) {
    add_host(host, lines);
    add_shared_memory(host, facts.window_model, lines);
  }
  add_mpi(facts.hosts, lines);
  add_launch(facts.launch, lines);
  lines.push_back(line("libtorch", fmt::format("{}, {}, instructions {}", facts.torch.version,
                                               facts.torch.onednn, facts.torch.capability)));
  lines.push_back(line("", facts.torch.memory));
  add_ranks(facts.ranks, lines);
  add_exchanges(facts, lines);
  return lines;
}

std::vector<std::string> describe(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    lines.push_back(fmt::format("{} {}: {}", name_of(finding.severity), finding.name, finding.text));
    lines.push_back("  fix: " + finding.fix);
  }
  const auto count = [&findings](Severity severity) {
    return std::ranges::count(findings, severity, &Finding::severity);
  };
  lines.push_back(fmt::format("doctor: {}, {}, {}", counted(count(Severity::error), "error"),
                              counted(count(Severity::warning), "warning"),
                              counted(count(Severity::note), "note")));
  return lines;
}

std::vector<std::string> errors_among(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::error || std::ranges::find(names, finding.name) != names.end())
      continue;
    names.push_back(finding.name);
  }
  return names;
}

}  // namespace kolo::app
