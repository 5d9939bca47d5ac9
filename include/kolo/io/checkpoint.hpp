// The checkpoint file: everything a run needs to go on, in one HDF5 file written by rank 0.
//
//     /format                     group; attributes name, version, creator, created (UTC)
//     /config                     the effective deck, text
//     /model/<name>               parameters, native type, logical row-major order
//     /buffers/<name>             running statistics and the like
//     /optimizer/<state>/<name>   one tensor a parameter and state ("exp_avg", ...)
//     /progress/<key>             scalars: int64, fp64 or text
//     /metrics/<split>/<name>     1-D fp64, a value an epoch; split train, val or run
//     /integrity/names, /xxh3     each data set above by path, in the order written, and XXH3 of its bytes
//
// The file is readable with h5dump, h5ls and h5py.  It is built in memory (hdf5_image.hpp), sealed by a user
// block and replaced atomically (sealed_file.hpp).  Invariant: read_checkpoint returns exactly what
// write_checkpoint was given, order included, or throws; it never returns a part.  /integrity/names carries
// the order, HDF5 lists alphabetically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kolo/io/metrics.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::io {

inline constexpr std::int64_t kCheckpointVersion = 1;

struct NamedTensor {
  std::string name;  ///< one HDF5 link: no '/', dots are fine
  DType type = DType::f32;
  std::vector<std::int64_t> shape;  ///< empty: a scalar
  std::vector<std::byte> data;      ///< logical row-major order

  bool operator==(const NamedTensor&) const = default;
};

using ProgressValue = std::variant<std::int64_t, double, std::string>;

struct Checkpoint {
  std::string config;
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> buffers;
  std::map<std::string, std::vector<NamedTensor>> optimizer;
  std::map<std::string, ProgressValue> progress;
  MetricTable metrics;

  bool operator==(const Checkpoint&) const = default;
};

/// A NamedTensor whose bytes belong to somebody else.
struct TensorView {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  ///< logical row-major order
};

/// A Checkpoint whose tensors belong to somebody else: what a writer needs.
struct CheckpointView {
  std::string config;
  std::vector<TensorView> model;
  std::vector<TensorView> buffers;
  std::map<std::string, std::vector<TensorView>> optimizer;
  std::map<std::string, ProgressValue> progress;
  MetricTable metrics;
};

CheckpointView view_of(const Checkpoint& checkpoint);
/// A copy that owns its tensors.
Checkpoint to_checkpoint(const CheckpointView& view);

/// What a finished write came to.
struct WrittenFile {
  std::size_t bytes = 0;
  double build_seconds = 0;  ///< making the HDF5 image in memory
  double write_seconds = 0;  ///< from creating the file until its new name is on disk
};

/// Any thread.  Memory: the file's bytes once more.  Throws CheckpointError: names or shapes that do not fit,
/// and whatever the disk has to say.
/// `alive` is called after each piece of a few megabytes.
WrittenFile write_checkpoint(const std::filesystem::path& path, const CheckpointView& checkpoint,
                             const std::function<void()>& alive = {});
WrittenFile write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Any thread.  Verifies the whole file before returning.  Throws CheckpointError naming the file and what is
/// wrong.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Where a metric column is kept below /metrics, e.g. "train/loss", and the column that a path stands for.
std::string metric_path(const std::string& column);
std::string metric_column(const std::string& path);

}  // namespace kolo::io
