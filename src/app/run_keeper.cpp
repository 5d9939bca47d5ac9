#include "kolo/app/run_keeper.hpp"

#include <algorithm>
#include <utility>

#include "kolo/util/fault_point.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {

RunKeeper::RunKeeper(io::RunDirectory& directory, std::int64_t keep, const io::MetricTable& table,
                     std::function<void()> alive)
    : directory_(directory),
      keep_(keep),
      alive_(std::move(alive)),
      metrics_(directory.path(), train::metric_columns()) {
  metrics_.rewrite(table);
}

void RunKeeper::save(std::function<io::CheckpointView()> make, std::int64_t step, bool is_best) {
  worker_.submit([this, make = std::move(make), step, is_best] {
    const util::Stopwatch watch;
    util::fault_point("checkpoint");
    write(make(), step, is_best);
    const double seconds = watch.seconds();
    totals_.seconds += seconds;
    totals_.longest_seconds = std::max(totals_.longest_seconds, seconds);
    longest_seconds_.store(totals_.longest_seconds, std::memory_order_relaxed);
  });
}

void RunKeeper::write(const io::CheckpointView& view, std::int64_t step, bool is_best) {
  const std::filesystem::path path = directory_.checkpoint_path(step);
  const io::WrittenFile written = io::write_checkpoint(path, view, alive_);
  ++totals_.checkpoints;
  totals_.bytes += static_cast<double>(written.bytes);
  directory_.update_last(path);
  if (is_best) directory_.update_best(path);
  if (const auto best = directory_.best()) directory_.keep_best_of(path, *best);
  directory_.prune_old(keep_);
}

void RunKeeper::add_row(const std::vector<double>& row) {
  worker_.submit([this, row] { metrics_.append(row); });
}

void RunKeeper::mark_best(std::int64_t step) {
  worker_.submit([this, step] { directory_.update_best(directory_.checkpoint_path(step)); });
}

io::Checkpoint RunKeeper::load_best(std::int64_t step) {
  wait();
  return io::read_named_checkpoint(directory_.checkpoint_path(step));
}

}  // namespace kolo::app
