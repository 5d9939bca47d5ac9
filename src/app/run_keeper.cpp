#include "kolo/app/run_keeper.hpp"

namespace kolo::app {

RunKeeper::RunKeeper(io::RunDirectory& directory, std::int64_t keep, const io::MetricTable& table)
    : directory_(directory), keep_(keep), metrics_(directory.path(), train::metric_columns()) {
  metrics_.rewrite(table);
}

void RunKeeper::save(const io::Checkpoint& checkpoint, std::int64_t step, bool is_best) {
  const std::filesystem::path path = directory_.checkpoint_path(step);
  io::write_checkpoint(path, checkpoint);
  directory_.update_last(path);
  if (is_best) directory_.update_best(path);
  directory_.prune_old(keep_);
}

void RunKeeper::add_row(const std::vector<double>& row) { metrics_.append(row); }

void RunKeeper::mark_best(std::int64_t step) { directory_.update_best(directory_.checkpoint_path(step)); }

io::Checkpoint RunKeeper::load_best(std::int64_t step) {
  return io::read_checkpoint(directory_.checkpoint_path(step));
}

}  // namespace kolo::app
