// `kolo bench checkpoint`: how long training waits for a checkpoint, and how fast it gets to the disk behind
// its back.
//
// Each is set against what it cannot beat: the wait against one copy of as many bytes in memory, the writing
// against plain write(2) calls of a megabyte and one fsync, as dd does with conv=fsync.  They are measured by
// turns, so that what else happens on the machine meets all of them.  Rank 0 does it all; the others wait.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kolo/app/bench.hpp"
#include "kolo/app/plan.hpp"
#include "kolo/bench/quantile.hpp"
#include "kolo/comm/agree.hpp"
#include "kolo/config/choices.hpp"
#include "kolo/io/bytes.hpp"
#include "kolo/io/descriptor.hpp"
#include "kolo/train/snapshot.hpp"
#include "kolo/util/log.hpp"
#include "kolo/util/strings.hpp"
#include "kolo/util/time.hpp"

namespace kolo::app {
namespace {

namespace fs = std::filesystem;

constexpr double kMilli = 1e3;
constexpr double kGiga = 1e9;

// Seconds of one repetition.
struct Times {
  double wait = 0, copy = 0, image = 0, write = 0, plain = 0;
};

struct CheckpointResult {
  double bytes = 0;  ///< of the file
  Times median;

  double write_speed() const { return bytes / median.write; }
  double plain_speed() const { return bytes / median.plain; }
  double background_speed() const { return bytes / (median.image + median.write); }
};

// Removed with what is in it, whatever happens.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const fs::path& parent)
      : path_(parent / fmt::format(".kolo-bench-checkpoint-{}", getpid())) {
    std::error_code failed;
    fs::create_directory(path_, failed);
    if (failed)
      throw ConfigError(
          fmt::format("--directory {}: cannot write there: {}", parent.string(), failed.message()));
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

double copy_seconds(io::Bytes& target, const io::Bytes& source) {
  const util::Stopwatch watch;
  std::memcpy(target.span().data(), source.span().data(), target.size());
  return watch.seconds();
}

double plain_write_seconds(const fs::path& path, std::size_t bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  static const std::vector<std::byte> block(kBlock, std::byte{0x5a});
  const util::Stopwatch watch;
  io::Descriptor file = io::open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC);
  int error = file ? 0 : errno;
  for (std::size_t done = 0; done < bytes && error == 0; done += kBlock)
    error = io::write_all(file.get(), std::span(block).first(std::min(kBlock, bytes - done))).error;
  if (error == 0) error = io::sync_descriptor(file.get());
  if (error == 0) error = file.close();
  const double seconds = watch.seconds();
  fs::remove(path);
  if (error != 0)
    throw CheckpointError(fmt::format("cannot write '{}': {}", path.string(), io::error_text(error)));
  return seconds;
}

struct Repetition {
  std::size_t bytes = 0;
  Times times;
};

Repetition measure_once(const train::Replica& replica, train::Snapshot& snapshot,
                        const ScratchDirectory& directory, const io::Bytes& source, io::Bytes& target) {
  Repetition result;
  util::Stopwatch watch;
  snapshot.capture(replica);
  result.times.wait = watch.lap();
  result.times.copy = copy_seconds(target, source);
  watch.lap();
  const io::CheckpointView view = snapshot.view();
  const double arranged = watch.lap();
  const io::WrittenFile written = io::write_checkpoint(directory / "checkpoint.h5", view);
  // A run's files have a new name each: replacing an old one would cost its removal.
  fs::remove(directory / "checkpoint.h5");
  result.bytes = written.bytes;
  result.times.image = arranged + written.build_seconds;
  result.times.write = written.write_seconds;
  result.times.plain = plain_write_seconds(directory / "plain", written.bytes);
  return result;
}

double median_of(const std::vector<Times>& times, double Times::*part) {
  std::vector<double> values;
  for (const Times& one : times)
    values.push_back(one.*part);
  return bench::median(std::move(values));
}

CheckpointResult measure_checkpoints(const RunContext& run) {
  const train::Replica& replica = *run.replica;
  const ScratchDirectory directory(run.command_line.directory);
  train::Snapshot snapshot;
  snapshot.capture(replica);
  io::Bytes source(snapshot.bytes()), target(snapshot.bytes());
  std::memset(source.span().data(), 1, source.size());
  std::vector<Times> times;
  CheckpointResult result;
  for (std::int64_t i = -run.command_line.warmup; i < run.command_line.steps; ++i) {
    const Repetition repetition = measure_once(replica, snapshot, directory, source, target);
    result.bytes = static_cast<double>(repetition.bytes);
    if (i >= 0) times.push_back(repetition.times);
  }
  for (double Times::*part : {&Times::wait, &Times::copy, &Times::image, &Times::write, &Times::plain})
    result.median.*part = median_of(times, part);
  return result;
}

void print(const RunContext& run, const CheckpointResult& r) {
  util::log(fmt::format("bench checkpoint: {} ({} parameters), {}: {} in {}", run.loaded.config.model.name,
                        util::format_count(run.replica->plan().parameter_count()),
                        config::name_of(run.loaded.config.optimizer.name), util::format_bytes(r.bytes),
                        run.command_line.directory));
  util::log(
      fmt::format("  training waits   {:9.3f} ms  {:.2f} x a copy of as many bytes in memory ({:.3f} ms)",
                  r.median.wait * kMilli, r.median.wait / r.median.copy, r.median.copy * kMilli));
  util::log(fmt::format("  image            {:9.3f} ms  made behind its back", r.median.image * kMilli));
  util::log(
      fmt::format("  write and fsync  {:9.3f} ms  {:.2f} GB/s, {:.2f} x plain writes and fsync ({:.2f} GB/s)",
                  r.median.write * kMilli, r.write_speed() / kGiga, r.write_speed() / r.plain_speed(),
                  r.plain_speed() / kGiga));
  util::log(fmt::format("  both             {:9.3f} ms  {:.2f} GB/s, {:.2f} x plain writes and fsync",
                        (r.median.image + r.median.write) * kMilli, r.background_speed() / kGiga,
                        r.background_speed() / r.plain_speed()));
}

std::string to_json(const RunContext& run, const CheckpointResult& r) {
  const nlohmann::ordered_json json = {{"bytes", r.bytes},
                                       {"wait_ms", r.median.wait * kMilli},
                                       {"copy_ms", r.median.copy * kMilli},
                                       {"image_ms", r.median.image * kMilli},
                                       {"write_ms", r.median.write * kMilli},
                                       {"plain_write_ms", r.median.plain * kMilli},
                                       {"write_bytes_per_s", r.write_speed()},
                                       {"plain_bytes_per_s", r.plain_speed()},
                                       {"write_ratio", r.write_speed() / r.plain_speed()},
                                       {"background_ratio", r.background_speed() / r.plain_speed()},
                                       {"model", run.loaded.config.model.name},
                                       {"parameters", run.replica->plan().parameter_count()}};
  return json.dump(2) + "\n";
}

}  // namespace

std::string bench_checkpoint(RunContext& run) {
  const comm::Communicator& world = run.world();
  config::Config& config = run.config();
  std::shared_ptr<model::Network> network = open_data_and_network(run);
  const fusion::StrategyChoice choice = train::choose_strategy(*network, config, world);
  run.replica = std::make_unique<train::Replica>(std::move(network), config, choice.strategy, world);
  const std::string json = comm::agree(world, [&] {
    if (!run.is_root()) return std::string();
    const CheckpointResult result = measure_checkpoints(run);
    print(run, result);
    return to_json(run, result);
  });
  run.replica->close();
  run.replica.reset();
  return json;
}

}  // namespace kolo::app
