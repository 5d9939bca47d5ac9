#include "stall_exchange.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

namespace kolo::comm {
namespace {

namespace fs = std::filesystem;

// Without a change for so long, what a file says is out of date, and so is the news.
constexpr double kIntervalsOfSilence = 4;
constexpr double kLongestFarewell = 1;  // seconds
constexpr const char* kAsks = "asks";

std::chrono::duration<double> seconds(double value) { return std::chrono::duration<double>(value); }

// A node's file, as it was last seen to change.
struct Sight {
  std::string text;
  double changed_at = -std::numeric_limits<double>::infinity();
};

// One node's side of the exchange; used by its thread alone.
class Side {
 public:
  explicit Side(StallExchange::Setup setup)
      : setup_(std::move(setup)), directory_(setup_.directory / ".watchdog") {}

  /// Says what there is to say, and hears the others.
  StallExchange::News trade(const std::vector<RankState>& own, bool asks, double now_s) {
    now_s_ = now_s;
    look();
    if (asks || somebody_asks()) {
      write(own, asks);
    } else if (std::exchange(wrote_, false)) {
      remove();
    }
    return heard(stalled_for(own));
  }

  void leave() {
    if (wrote_) remove();
  }

 private:
  fs::path file_of(int first_rank) const { return directory_ / fmt::format("node_of_rank_{}", first_rank); }

  void look() {
    std::error_code failed;
    if (!fs::exists(directory_, failed)) return;
    for (const NodeName& node : setup_.nodes) {
      if (node.first_rank == setup_.first_rank) continue;
      std::ostringstream text;
      if (std::ifstream file(file_of(node.first_rank)); file) text << file.rdbuf();
      Sight& sight = sights_[node.first_rank];
      if (!text.str().empty() && text.str() != sight.text) sight = {text.str(), now_s_};
    }
  }

  bool is_fresh(const Sight& sight) const {
    return now_s_ - sight.changed_at <= kIntervalsOfSilence * setup_.interval_s;
  }

  bool asks(int first_rank) const {
    const auto found = sights_.find(first_rank);
    return found != sights_.end() && is_fresh(found->second) && found->second.text.starts_with(kAsks);
  }

  bool somebody_asks() const {
    for (const auto& [first_rank, sight] : sights_)
      if (asks(first_rank)) return true;
    return false;
  }

  // Failing to write is not worth a word: the node then counts as silent.
  void write(const std::vector<RankState>& own, bool asks) {
    std::error_code ignored;
    fs::create_directory(directory_, ignored);
    const fs::path aside = file_of(setup_.first_rank).string() + ".new";
    std::ofstream(aside) << fmt::format("{} {} {}\n", asks ? kAsks : "answers", ::getpid(), ++written_)
                         << to_text(own);
    fs::rename(aside, file_of(setup_.first_rank), ignored);
    wrote_ = true;
  }

  void remove() const {
    std::error_code ignored;
    fs::remove(file_of(setup_.first_rank), ignored);
    fs::remove(directory_, ignored);  // unless another node's file is still in it
  }

  StallExchange::News heard(double stalled_s) const {
    StallExchange::News news;
    for (const NodeName& node : setup_.nodes) {
      if (node.first_rank == setup_.first_rank) continue;
      const auto found = sights_.find(node.first_rank);
      if (found == sights_.end() || !is_fresh(found->second)) {
        RankState silent{node.first_rank, node.host, {}, stalled_s, true, stalled_s};
        silent.place.step = -1;
        news.others.push_back(std::move(silent));
        continue;
      }
      // The first line is the header, which is no rank's.
      const std::vector<RankState> ranks = parse_states(found->second.text);
      news.others.insert(news.others.end(), ranks.begin(), ranks.end());
      if (node.first_rank < setup_.first_rank && asks(node.first_rank)) ++news.turn;
    }
    return news;
  }

  const StallExchange::Setup setup_;
  const fs::path directory_;
  double now_s_ = 0;
  std::map<int, Sight> sights_;
  std::int64_t written_ = 0;
  bool wrote_ = false;
};

}  // namespace

// Outlives the exchange where its thread hangs.
struct StallExchange::Shared {
  explicit Shared(double interval) : interval_s(interval) {}

  const double interval_s;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<RankState> own;
  double now_s = 0;
  bool posted = false;
  bool asks = false;
  bool stop = false;
  bool ended = false;
  std::optional<News> news;
  double news_at_s = 0;

  void run(Side side) {
    std::unique_lock lock(mutex);
    while (!stop) {
      if (posted) {
        const std::vector<RankState> said = own;
        const bool asked = asks;
        const double at_s = now_s;
        posted = false;
        lock.unlock();
        News heard = side.trade(said, asked, at_s);
        lock.lock();
        news = asked ? std::optional(std::move(heard)) : std::nullopt;
        news_at_s = at_s;
      }
      const bool asked = asks;
      changed.wait_for(lock, seconds(interval_s), [&] { return stop || asks != asked; });
    }
    lock.unlock();
    side.leave();
    lock.lock();
    ended = true;
    changed.notify_all();
  }
};

StallExchange::StallExchange(Setup setup) : shared_(std::make_shared<Shared>(setup.interval_s)) {
  std::thread([shared = shared_, setup = std::move(setup)]() mutable {
    shared->run(Side(std::move(setup)));
  }).detach();
}

StallExchange::~StallExchange() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, seconds(kLongestFarewell), [&] { return shared_->ended; });
}

void StallExchange::post(std::vector<RankState> own, bool asks, double now_s) {
  const std::scoped_lock lock(shared_->mutex);
  shared_->own = std::move(own);
  shared_->asks = asks;
  shared_->now_s = now_s;
  shared_->posted = true;
  shared_->changed.notify_all();
}

std::optional<StallExchange::News> StallExchange::news(double now_s) const {
  const std::scoped_lock lock(shared_->mutex);
  const double age = now_s - shared_->news_at_s;
  return age <= kIntervalsOfSilence * shared_->interval_s ? shared_->news : std::nullopt;
}

}  // namespace kolo::comm
