#include "kolo/bench/allreduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kolo/bench/message.hpp"
#include "kolo/bench/quantile.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/fusion/exchange.hpp"
#include "kolo/util/time.hpp"

namespace kolo::bench {
namespace {

constexpr std::size_t kControlValues = 8;  // a step's sums and flags
constexpr std::size_t kCheckedAtOnce = std::size_t{1} << 20;
constexpr double kWarmupSeconds = 0.5;
constexpr double kCountedSeconds = 2;
constexpr std::size_t kLeastRepetitions = 5;

// One message, summed again and again by the exchange and by plain MPI.
template <class T>
class Rounds {
 public:
  Rounds(const AllreduceCase& what, const comm::Communicator& world)
      : world_(world),
        plan_(plan_message(what.elements, what.type)),
        contribution_(comm::agree(world, [&] { return contribution_of<T>(world.rank(), what.elements); })),
        plain_(comm::agree(world, [&] { return std::vector<T>(contribution_.size()); })),
        exchange_(
            fusion::make_exchange(what.strategy, plan_, what.type, 0, {}, world, world.split_by_node())),
        shares_result_(what.strategy == config::Strategy::shared) {}

  void next_round() { sign_ = -sign_; }
  double exchange_seconds();
  double plain_seconds();
  bool result_is_right() const;
  void close() { exchange_->close(); }

 private:
  // The sign changes every round, so sums left over from the round before are wrong.
  void fill(T* array) const {
    std::transform(contribution_.begin(), contribution_.end(), array, [this](T x) { return sign_ * x; });
  }
  T* gradients() const { return reinterpret_cast<T*>(exchange_->memory().gradients); }
  // Under `shared` the place every rank of the node sees; otherwise the sum lies where the gradients were.
  T* result() const {
    return shares_result_ ? reinterpret_cast<T*>(exchange_->memory().parameters) : gradients();
  }

  const comm::Communicator& world_;
  fusion::BucketPlan plan_;
  std::vector<T> contribution_;
  std::vector<T> plain_;
  std::unique_ptr<fusion::Exchange> exchange_;
  bool shares_result_;
  T sign_ = 1;
};

template <class T>
double Rounds<T>::exchange_seconds() {
  fusion::StepActions actions;
  actions.decide = [](std::span<const double>, double) { return std::optional(1.0); };
  actions.update = [this](std::int64_t begin, std::int64_t end, const std::byte* sum, double) {
    if (!shares_result_) return;
    std::memcpy(result() + begin, sum, static_cast<std::size_t>(end - begin) * sizeof(T));
  };
  std::array<double, kControlValues> control = {};
  fill(gradients());
  world_.barrier();
  const util::Stopwatch watch;
  for (const fusion::Bucket& bucket : plan_.buckets)
    exchange_->reduce_bucket(bucket);
  exchange_->finish_step(control, actions);
  return watch.seconds();
}

template <class T>
double Rounds<T>::plain_seconds() {
  fill(plain_.data());
  world_.barrier();
  const util::Stopwatch watch;
  world_.all_reduce(plain_, comm::Op::sum);
  return watch.seconds();
}

// The oracle: plain MPI sums of the contributions in fp64.
template <class T>
bool Rounds<T>::result_is_right() const {
  const std::span<const T> sums(result(), contribution_.size());
  std::int64_t right = 1;
  std::vector<double> expected, magnitudes;
  for (std::size_t begin = 0; begin < sums.size(); begin += kCheckedAtOnce) {
    const auto summands =
        std::span(contribution_).subspan(begin, std::min(kCheckedAtOnce, sums.size() - begin));
    expected.clear();
    magnitudes.clear();
    for (const T summand : summands) {
      expected.push_back(static_cast<double>(sign_ * summand));
      magnitudes.push_back(std::abs(expected.back()));
    }
    world_.all_reduce(expected, comm::Op::sum);
    world_.all_reduce(magnitudes, comm::Op::sum);
    right &= sums_match<T>(sums.subspan(begin, summands.size()), expected, magnitudes, world_.size()) ? 1 : 0;
  }
  return world_.all_reduce(right, comm::Op::min) != 0;
}

double slowest_median(std::vector<double> seconds, const comm::Communicator& world) {
  world.all_reduce(seconds, comm::Op::max);
  return median(std::move(seconds));
}

template <class T>
AllreduceResult measure(const AllreduceCase& what, const comm::Communicator& world, int warmup,
                        int repetitions) {
  Rounds<T> rounds(what, world);
  std::vector<double> exchange, plain;
  util::Stopwatch watch;
  const auto spent = [&] { return world.all_reduce(watch.seconds(), comm::Op::max); };
  for (int i = 0; i < warmup && spent() < kWarmupSeconds; ++i) {
    rounds.next_round();
    rounds.exchange_seconds();
    rounds.plain_seconds();
  }
  watch.lap();
  for (int i = 0; i < std::max(repetitions, 1); ++i) {
    if (exchange.size() >= kLeastRepetitions && spent() > kCountedSeconds) break;
    rounds.next_round();
    exchange.push_back(rounds.exchange_seconds());
    plain.push_back(rounds.plain_seconds());
  }
  AllreduceResult result;
  result.correct = rounds.result_is_right();
  rounds.close();
  result.seconds = slowest_median(std::move(exchange), world);
  result.plain_seconds = slowest_median(std::move(plain), world);
  return result;
}

}  // namespace

AllreduceResult measure_allreduce(const AllreduceCase& what, const comm::Communicator& world, int warmup,
                                  int repetitions) {
  return what.type == DType::f64 ? measure<double>(what, world, warmup, repetitions)
                                 : measure<float>(what, world, warmup, repetitions);
}

}  // namespace kolo::bench
