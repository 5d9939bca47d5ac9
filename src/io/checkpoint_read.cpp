#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "kolo/io/bytes.hpp"
#include "kolo/io/checkpoint.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::io {
namespace {

void check_format(hid_t root) {
  const Hdf5Group group = open_group(root, "format");
  const std::vector<std::string> name = read_text_attribute(group.id(), "name");
  if (name != std::vector<std::string>{"kolo checkpoint"})
    throw CheckpointError(
        fmt::format("its format is '{}'; expected 'kolo checkpoint'", fmt::join(name, ", ")));
  if (const std::int64_t version = read_integer_attribute(group.id(), "version");
      version != kCheckpointVersion)
    throw CheckpointError(
        fmt::format("its format version is {}; this kolo reads version {}", version, kCheckpointVersion),
        "read it with the kolo that wrote it, or a newer one");
}

/// Reads data sets by path, each against its digest.
class Reader {
 public:
  explicit Reader(hid_t root) : root_(root) {}

  Hdf5Kind kind(const std::string& path) const { return kind_of(open_dataset(root_, path)); }

  Hdf5Array array(const std::string& path, std::uint64_t digest) const {
    Hdf5Array result = read_array(open_dataset(root_, path), what(path));
    check_digest(path, util::digest(std::span<const std::byte>(result.data)), digest);
    return result;
  }

  std::string text(const std::string& path, std::uint64_t digest) const {
    std::vector<std::string> texts = read_texts(open_dataset(root_, path), what(path));
    if (texts.size() != 1) throw CheckpointError(fmt::format("{} is not one text", what(path)));
    check_digest(path, util::digest(texts.front()), digest);
    return std::move(texts.front());
  }

 private:
  static std::string what(const std::string& path) { return fmt::format("the data set '{}'", path); }

  static void check_digest(const std::string& path, std::uint64_t found, std::uint64_t expected) {
    if (found != expected)
      throw CheckpointError(fmt::format("the checksum of {} is {}; expected {}", what(path),
                                        util::to_hex(found), util::to_hex(expected)));
  }

  hid_t root_;
};

template <class T>
T scalar_from(const Hdf5Array& array) {
  T value;
  std::memcpy(&value, array.data.data(), sizeof value);
  return value;
}

ProgressValue read_progress(const Reader& reader, const std::string& path, std::uint64_t digest) {
  if (reader.kind(path) == Hdf5Kind::text) return reader.text(path, digest);
  const Hdf5Array array = reader.array(path, digest);
  if (array.shape.empty() && array.type == DType::i64) return scalar_from<std::int64_t>(array);
  if (array.shape.empty() && array.type == DType::f64) return scalar_from<double>(array);
  throw CheckpointError(fmt::format("the data set '{}' is {} of rank {}; expected one int64, fp64 or text",
                                    path, name_of(array.type), array.shape.size()));
}

void add_metric(MetricTable& metrics, const Reader& reader, const std::string& path, std::uint64_t digest) {
  const Hdf5Array array = reader.array(path, digest);
  const std::size_t rows = array.data.size() / sizeof(double);
  if (array.type != DType::f64 || array.shape.size() != 1 ||
      (!metrics.columns.empty() && rows != metrics.rows.size()))
    throw CheckpointError(
        fmt::format("the data set '{}' is {} of shape [{}]; expected fp64 of one dimension and "
                    "as many values as the other metrics",
                    path, name_of(array.type), fmt::join(array.shape, ", ")));
  if (metrics.columns.empty()) metrics.rows.resize(rows);
  metrics.columns.push_back(metric_column(path.substr(std::strlen("/metrics/"))));
  for (std::size_t i = 0; i < rows; ++i) {
    double value = 0;
    std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
    metrics.rows[i].push_back(value);
  }
}

NamedTensor read_tensor(const Reader& reader, const std::string& path, std::string name,
                        std::uint64_t digest) {
  Hdf5Array array = reader.array(path, digest);
  return {std::move(name), array.type, std::move(array.shape), std::move(array.data)};
}

/// Puts the data set at `path` where it belongs in `checkpoint`.
void read_into(Checkpoint& checkpoint, const Reader& reader, const std::string& path, std::uint64_t digest) {
  const std::vector<std::string> parts = util::split(path, '/');  // the first is empty: paths start with '/'
  const std::string section = parts.size() < 2 ? "" : parts[1];
  if (section == "config" && parts.size() == 2) {
    checkpoint.config = reader.text(path, digest);
  } else if (section == "model" && parts.size() == 3) {
    checkpoint.model.push_back(read_tensor(reader, path, parts[2], digest));
  } else if (section == "buffers" && parts.size() == 3) {
    checkpoint.buffers.push_back(read_tensor(reader, path, parts[2], digest));
  } else if (section == "optimizer" && parts.size() == 4) {
    checkpoint.optimizer[parts[2]].push_back(read_tensor(reader, path, parts[3], digest));
  } else if (section == "progress" && parts.size() == 3) {
    checkpoint.progress.emplace(parts[2], read_progress(reader, path, digest));
  } else if (section == "metrics" && parts.size() == 4) {
    add_metric(checkpoint.metrics, reader, path, digest);
  } else {
    throw CheckpointError(fmt::format("it holds an unknown data set '{}'", path));
  }
}

Checkpoint read_content(const Bytes& bytes) {
  const Hdf5Lock lock;
  const Hdf5File file = open_image(bytes.span());
  check_format(file.id());
  const std::vector<std::string> names =
      read_texts(open_dataset(file.id(), "/integrity/names"), "the data set '/integrity/names'");
  const std::vector<std::uint64_t> digests =
      read_digests(open_dataset(file.id(), "/integrity/xxh3"), "the data set '/integrity/xxh3'");
  if (names.size() != digests.size() || std::find(names.begin(), names.end(), "/config") == names.end())
    throw CheckpointError(fmt::format(
        "/integrity has {} names and {} checksums; expected as many of each, among them '/config'",
        names.size(), digests.size()));
  Checkpoint checkpoint;
  // A state without tensors has no data set that would name it.
  for (const std::string& state : link_names(open_group(file.id(), "optimizer").id()))
    checkpoint.optimizer[state];
  const Reader reader(file.id());
  for (std::size_t i = 0; i < names.size(); ++i)
    read_into(checkpoint, reader, names[i], digests[i]);
  return checkpoint;
}

}  // namespace

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  const Bytes bytes = read_sealed(path);
  try {
    return read_content(bytes);
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("checkpoint '{}' cannot be used: {}", path.string(), error.what()),
                          error.hint());
  }
}

}  // namespace kolo::io
