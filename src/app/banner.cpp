#include "kolo/app/banner.hpp"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <torch/headeronly/version.h>
#include <unistd.h>
#include <boost/version.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include "kolo/app/version.hpp"
#include "kolo/io/hdf5_mutex.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::app {
namespace {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  const std::lock_guard lock(io::hdf5_mutex());
  H5get_libversion(&major, &minor, &release);
  return fmt::format("HDF5 {}.{}.{} (compiled with {}.{}.{})", major, minor, release, H5_VERS_MAJOR,
                     H5_VERS_MINOR, H5_VERS_RELEASE);
}

// "Intel(R) MKL-DNN v3.7.1 (Git Hash ...)" -> "oneDNN 3.7.1"
std::string onednn_version() {
  const std::string text = at::get_mkldnn_version();
  const auto begin = text.find(" v");
  if (begin == std::string::npos) return "no oneDNN";
  return "oneDNN " + text.substr(begin + 2, text.find(' ', begin + 2) - begin - 2);
}

std::string rank_line(const RunContext& run) {
  const auto cores = run.binding.cores.size();
  return fmt::format("{:>4}  {}  pid {}  core{} {}  {} thread{}  cpu", run.world().rank(), run.mpi->host(),
                     getpid(), cores == 1 ? "" : "s", run.binding.list, run.binding.threads,
                     run.binding.threads == 1 ? "" : "s");
}

}  // namespace

std::string version_text() {
  return fmt::format("kolo {} (git {}; {})", version(), git_state(), build_switches());
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string name = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    name = std::string(util::trim(line.substr(line.find(':') + 1)));
    break;
  }
  return fmt::format("{}, {}", name, at::get_cpu_capability());
}

void print_banner(const RunContext& run) {
  const std::vector<std::string> ranks = run.world().all_gather(rank_line(run));
  const std::vector<std::string> hosts = run.world().all_gather(run.mpi->host());
  if (!run.is_root()) return;
  util::log(version_text());
  util::log(fmt::format("  {}, thread level {}", comm::mpi_library(),
                        comm::thread_level_name(run.mpi->thread_level())));
  util::log(fmt::format("  libtorch {}, {}, {}, Boost {}", TORCH_VERSION, onednn_version(), hdf5_version(),
                        BOOST_LIB_VERSION));
  util::log(fmt::format("  {}", processor_name()));
  const auto nodes = std::set(hosts.begin(), hosts.end()).size();
  util::log(fmt::format("ranks: {} on {} node{}; binding {}", ranks.size(), nodes, nodes == 1 ? "" : "s",
                        run.binding.reason));
  for (const std::string& line : ranks)
    util::log(line);
  util::log(fmt::format("memory: {}", run.memory));
}

}  // namespace kolo::app
