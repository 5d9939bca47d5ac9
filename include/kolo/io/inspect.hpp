// What a file of kolo's holds, as plain facts for a report.
//
// Nothing here trusts a file further than its checksum: read_kolo_file() goes through read_sealed(), so HDF5
// never sees bytes that are not those that were written.  Numbers about tensors are exact where the element
// type allows it, and non-finite elements are counted instead of spoiling minimum, maximum and mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kolo/io/checkpoint.hpp"
#include "kolo/io/metrics.hpp"

namespace kolo::io {

/// The attributes of /format; texts that are not there are empty.
struct FormatFacts {
  std::int64_t version = 0;
  std::string creator;
  std::string created;  ///< UTC, e.g. "2025-03-01T12:00:00Z"
};

struct CheckpointFile {
  FormatFacts format;
  Checkpoint content;
};

/// A file that proved to be whole.
struct KoloFile {
  std::size_t bytes = 0;  ///< with its user block
  std::variant<CheckpointFile, MetricTable> content;
};

/// Reads a checkpoint or a metrics.h5, whichever it is.  Memory: up to twice the file.  Throws ConfigError
/// for a directory and CheckpointError, naming the file, for anything else that is not a whole file of
/// kolo's.
KoloFile read_kolo_file(const std::filesystem::path& path);

/// Entries of /progress that people ask for; absent where the file lacks the key or has another type there.
struct ProgressFacts {
  std::optional<std::int64_t> epoch;  ///< epochs completed
  std::optional<std::int64_t> step;   ///< steps completed in the run
  std::optional<std::int64_t> step_in_epoch;
  std::optional<std::int64_t> sample_offset;  ///< samples of the present epoch already used
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> threads;  ///< per rank
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> best_epoch;  ///< 0: none yet
  std::optional<std::int64_t> best_step;   ///< 0: none yet
  std::optional<double> best_val_top1;     ///< fraction; negative without validation
  std::optional<std::string> strategy;
  std::optional<std::string> processor;
  std::optional<std::string> build;
};

ProgressFacts progress_of(const Checkpoint& checkpoint);

/// What one group of tensors comes to.
struct GroupFacts {
  std::string name;  ///< "model", "buffers" or "optimizer/<state>"
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

std::vector<GroupFacts> groups_of(const Checkpoint& checkpoint);

using ElementValue = std::variant<std::int64_t, double>;

struct TensorFacts {
  std::string path;  ///< in the file, e.g. "/model/conv1.weight"
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t zeros = 0;           ///< of either sign
  std::int64_t non_finite = 0;      ///< NaN and infinities
  std::optional<ElementValue> min;  ///< of the finite elements, like max and mean; absent without any
  std::optional<ElementValue> max;
  std::optional<double> mean;
};

TensorFacts facts_of(std::string path, const NamedTensor& tensor);
/// Every tensor in the order it is stored.
std::vector<TensorFacts> tensors_of(const Checkpoint& checkpoint);

}  // namespace kolo::io
