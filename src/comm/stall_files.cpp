#include "stall_files.hpp"

#include <chrono>
#include <fstream>
#include <sstream>

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

bool is_fresh(const fs::path& path, double fresh_s) {
  std::error_code failed;
  const fs::file_time_type written = fs::last_write_time(path, failed);
  if (failed) return false;
  // A file server's clock may differ by some seconds from this node's.
  constexpr double kClockSkew = 5;
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
  return age.count() <= fresh_s + kClockSkew;
}

}  // namespace

StallFiles::StallFiles(const fs::path& directory, int first_rank)
    : directory_(directory / ".watchdog"), first_rank_(first_rank) {}

fs::path StallFiles::file_of(int first_rank) const {
  return directory_ / ("node_of_rank_" + std::to_string(first_rank));
}

void StallFiles::write(const std::vector<RankState>& own) const {
  std::error_code ignored;
  fs::create_directory(directory_, ignored);
  const fs::path aside = file_of(first_rank_).string() + ".new";
  std::ofstream(aside) << to_text(own);
  fs::rename(aside, file_of(first_rank_), ignored);
}

bool StallFiles::merge(std::vector<RankState>& states, const std::vector<int>& first_ranks,
                       const std::vector<std::string>& hosts, double fresh_s) const {
  bool first = true;
  for (std::size_t i = 0; i < first_ranks.size(); ++i) {
    if (first_ranks[i] == first_rank_) continue;
    const fs::path path = file_of(first_ranks[i]);
    if (!is_fresh(path, fresh_s)) {
      RankState silent;
      silent.rank = first_ranks[i];
      silent.host = hosts[i];
      silent.place.step = -1;
      silent.stopped = true;
      states.push_back(silent);
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const std::vector<RankState> others = parse_states(text.str());
    states.insert(states.end(), others.begin(), others.end());
    if (first_ranks[i] < first_rank_) first = false;
  }
  return first;
}

void StallFiles::remove() const {
  std::error_code ignored;
  fs::remove(file_of(first_rank_), ignored);
  fs::remove(directory_, ignored);  // unless another node's file is still in it
}

}  // namespace kolo::comm
