#include "kolo/comm/watchdog.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kolo/util/time.hpp"
#include "stall_exchange.hpp"

namespace kolo::comm {
namespace {

constexpr double kLongestPeriod = 1;
constexpr double kPeriodsInTimeout = 8;
constexpr double kIntervalInTimeout = 1.0 / 8;
// A thread that runs wakes up within this many periods, on a busy machine too.
constexpr double kPeriodsOfSilence = 4;

int open_process(const PulseSlot& slot, const PulseSlot& own) {
  // A number of another namespace would be somebody else's process here.
  if (slot.pid_namespace == 0 || slot.pid_namespace != own.pid_namespace) return -1;
  return static_cast<int>(syscall(SYS_pidfd_open, slot.pid, 0));
}

}  // namespace

class Watchdog::Thread {
 public:
  Thread(const NodeBoard& board, Setup setup, Callbacks callbacks)
      : board_(board), setup_(std::move(setup)), callbacks_(std::move(callbacks)) {
    period_ =
        setup_.timeout > 0 ? std::min(kLongestPeriod, setup_.timeout / kPeriodsInTimeout) : kLongestPeriod;
    seen_.resize(static_cast<std::size_t>(board_.size()));
    polled_.push_back({eventfd(0, EFD_CLOEXEC), POLLIN, 0});
    for (int rank = 0; rank < board_.size(); ++rank) {
      // poll() leaves out negative descriptors.
      const bool other = rank != setup_.own;
      polled_.push_back({other ? open_process(board_.slot(rank), own()) : -1, POLLIN, 0});
    }
    thread_ = std::thread([this] { run(); });
  }

  ~Thread() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(polled_[0].fd, &one, sizeof one);
    thread_.join();
    for (const pollfd& item : polled_)
      if (item.fd >= 0) close(item.fd);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  void set_directory(const std::filesystem::path& directory) {
    if (setup_.nodes.size() < 2 || setup_.timeout == 0) return;
    const std::scoped_lock lock(mutex_);
    exchange_.emplace(StallExchange::Setup{directory, setup_.ranks.front(), setup_.nodes,
                                           setup_.timeout * kIntervalInTimeout});
  }

 private:
  struct Seen {
    std::int64_t beats = 0, ticks = 0;
    double beat_at = 0, tick_at = 0;  // of clock_
  };

  void run() {
    util::Stopwatch watch;
    while (true) {
      const int ready = poll(polled_.data(), polled_.size(), static_cast<int>(period_ * 1000) + 1);
      if (polled_[0].revents != 0) return;
      if (ready > 0) report_deaths();
      // Time in which this process did not run does not count.
      clock_ += std::min(watch.lap(), 2 * period_);
      own().ticks.fetch_add(1, std::memory_order_relaxed);
      look();
      if (setup_.timeout > 0) judge();
    }
  }

  void report_deaths() {
    for (int rank = 0; rank < board_.size(); ++rank) {
      pollfd& item = polled_[static_cast<std::size_t>(rank) + 1];
      if (item.revents == 0) continue;
      close(std::exchange(item.fd, -1));
      item.revents = 0;
      callbacks_.died(state_of(rank));
    }
  }

  void look() {
    for (int rank = 0; rank < board_.size(); ++rank) {
      Seen& seen = seen_[static_cast<std::size_t>(rank)];
      const PulseSlot& slot = board_.slot(rank);
      if (std::exchange(seen.beats, slot.beats.load(std::memory_order_relaxed)) != seen.beats)
        seen.beat_at = clock_;
      if (std::exchange(seen.ticks, slot.ticks.load(std::memory_order_relaxed)) != seen.ticks)
        seen.tick_at = clock_;
    }
  }

  bool is_silent(int rank) const {
    return clock_ - seen_[static_cast<std::size_t>(rank)].tick_at > kPeriodsOfSilence * period_;
  }

  RankState state_of(int rank) const {
    const PulseSlot& slot = board_.slot(rank);
    RankState state;
    state.rank = setup_.ranks[static_cast<std::size_t>(rank)];
    state.host = setup_.host;
    state.place = {static_cast<Phase>(slot.phase.load(std::memory_order_relaxed)),
                   slot.step.load(std::memory_order_relaxed), slot.bucket.load(std::memory_order_relaxed)};
    state.silent_s = clock_ - seen_[static_cast<std::size_t>(rank)].beat_at;
    state.stopped = is_silent(rank);
    if (state.stopped) state.stopped_s = clock_ - seen_[static_cast<std::size_t>(rank)].tick_at;
    return state;
  }

  std::vector<RankState> states() const {
    std::vector<RankState> all;
    for (int rank = 0; rank < board_.size(); ++rank)
      all.push_back(state_of(rank));
    return all;
  }

  // One rank of the node does the talking: the first that runs.
  bool is_reporter() const {
    for (int rank = 0; rank < setup_.own; ++rank)
      if (!is_silent(rank)) return false;
    return true;
  }

  // A node asks the others long before it has to judge; one whose reporter has changed asks anew.
  void judge() {
    std::vector<RankState> all = states();
    const double here = stalled_for(all);
    const bool reports = is_reporter();
    const std::scoped_lock lock(mutex_);
    const bool asks = reports && here >= setup_.timeout / 2;
    if (!asks) asks_since_ = clock_;
    if (exchange_ && reports) exchange_->post(all, asks, clock_);
    if (here < setup_.timeout) warned_ = false;
    if (here < setup_.timeout || !reports) return;
    if (exchange_ && clock_ - asks_since_ < setup_.timeout / 2) return;
    const Hearsay hearsay = hear(all);
    const double everywhere = stalled_for(all);
    if (everywhere < setup_.timeout) return;  // this node only waits
    const std::string message = describe_culprits(culprits(all)) + hearsay.remark;
    if (!std::exchange(warned_, true) && hearsay.turn == 0) callbacks_.warn(message);
    if (everywhere < 2 * setup_.timeout || std::exchange(gave_up_, true)) return;
    callbacks_.give_up(message, list_ranks(all, kListed), hearsay.turn);
  }

  struct Hearsay {
    int turn = 0;
    std::string remark;
  };

  // Adds the other nodes' ranks to this node's.
  Hearsay hear(std::vector<RankState>& all) const {
    if (!exchange_) return {};
    if (const std::optional<StallExchange::News> news = exchange_->news(clock_)) {
      all.insert(all.end(), news->others.begin(), news->others.end());
      return {news->turn, ""};
    }
    const auto self = std::find_if(setup_.nodes.begin(), setup_.nodes.end(), [&](const NodeName& node) {
      return node.first_rank == setup_.ranks.front();
    });
    return {static_cast<int>(self - setup_.nodes.begin()),
            "; the other nodes cannot be asked, the run directory does not answer"};
  }

  static constexpr std::size_t kListed = 16;

  PulseSlot& own() const { return board_.slot(setup_.own); }

  const NodeBoard& board_;
  const Setup setup_;
  const Callbacks callbacks_;
  double period_ = kLongestPeriod;
  double clock_ = 0;
  std::vector<Seen> seen_;
  std::vector<pollfd> polled_;  // the request to stop, then each process of the node
  std::mutex mutex_;            // guards what follows
  std::optional<StallExchange> exchange_;
  double asks_since_ = 0;  // of clock_
  bool warned_ = false;
  bool gave_up_ = false;

  std::thread thread_;  // last: it uses all of the above
};

Watchdog::Watchdog(const NodeBoard& board, Setup setup, Callbacks callbacks)
    : thread_(std::make_unique<Thread>(board, std::move(setup), std::move(callbacks))) {}

Watchdog::~Watchdog() = default;

void Watchdog::set_directory(const std::filesystem::path& directory) { thread_->set_directory(directory); }

}  // namespace kolo::comm
