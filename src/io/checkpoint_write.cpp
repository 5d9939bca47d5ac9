#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "kolo/io/checkpoint.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/time.hpp"

namespace kolo::io {
namespace {

/// Writes data sets and remembers path and digest of each for /integrity.
class Builder {
 public:
  explicit Builder(std::size_t expected_bytes) : file_(create_memory_file(expected_bytes, kUserBlockBytes)) {}

  hid_t root() const { return file_.id(); }

  void add_array(const Hdf5Group& group, const std::string& prefix, const std::string& name, DType type,
                 std::span<const std::int64_t> shape, std::span<const std::byte> data) {
    write_array(group.id(), name, type, shape, data);
    remember(prefix + name, util::digest(data));
  }

  template <class T>
  void add_scalar(const Hdf5Group& group, const std::string& prefix, const std::string& name,
                  const T& value) {
    add_array(group, prefix, name, dtype_of<T>(), {}, std::as_bytes(std::span(&value, 1)));
  }

  void add_text(hid_t parent, const std::string& prefix, const std::string& name, const std::string& text) {
    write_text(parent, name, text);
    remember(prefix + name, util::digest(text));
  }

  void add_tensors(const Hdf5Group& group, const std::string& prefix, std::span<const TensorView> tensors) {
    for (const TensorView& tensor : tensors)
      add_array(group, prefix, tensor.name, tensor.type, tensor.shape, tensor.data);
  }

  Hdf5Image finish() {
    {
      const Hdf5Group group = create_group(root(), "integrity");
      write_texts(group.id(), "names", names_);
      write_digests(group.id(), "xxh3", digests_);
    }
    return Hdf5Image(std::move(file_));
  }

 private:
  void remember(std::string path, std::uint64_t digest) {
    names_.push_back('/' + std::move(path));
    digests_.push_back(digest);
  }

  Hdf5File file_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> digests_;
};

void write_format(Builder& builder) {
  const Hdf5Group group = create_group(builder.root(), "format");
  write_attribute(group.id(), "name", std::string_view("kolo checkpoint"));
  write_attribute(group.id(), "version", kCheckpointVersion);
  write_attribute(group.id(), "creator", std::string_view("kolo"));
  write_attribute(group.id(), "created",
                  std::string_view(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))));
}

void write_progress(Builder& builder, const std::map<std::string, ProgressValue>& progress) {
  const Hdf5Group group = create_group(builder.root(), "progress");
  for (const auto& [key, value] : progress) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      builder.add_scalar(group, "progress/", key, *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      builder.add_scalar(group, "progress/", key, *real);
    } else {
      builder.add_text(group.id(), "progress/", key, std::get<std::string>(value));
    }
  }
}

void write_metrics(Builder& builder, const MetricTable& metrics) {
  const Hdf5Group group = create_group(builder.root(), "metrics");
  std::map<std::string, Hdf5Group> splits;
  for (const char* split : {"train", "val", "run"})
    splits.emplace(split, create_group(group.id(), split));
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(metrics.rows.size())};
  std::vector<double> values(metrics.rows.size());
  for (std::size_t i = 0; i < metrics.columns.size(); ++i) {
    std::transform(metrics.rows.begin(), metrics.rows.end(), values.begin(),
                   [i](const std::vector<double>& row) { return row.at(i); });
    const std::string path = metric_path(metrics.columns[i]);
    const std::size_t slash = path.find('/');
    const std::string split = path.substr(0, slash);
    builder.add_array(splits.at(split), "metrics/" + split + '/', path.substr(slash + 1), DType::f64, shape,
                      std::as_bytes(std::span(values)));
  }
}

std::size_t tensor_bytes(std::span<const TensorView> tensors) {
  // An object header and a link take up to about a kilobyte beside the data.
  std::size_t bytes = 0;
  for (const TensorView& tensor : tensors)
    bytes += tensor.data.size() + 1024;
  return bytes;
}

std::size_t expected_bytes(const CheckpointView& checkpoint) {
  std::size_t bytes = 64 * 1024 + checkpoint.config.size() + tensor_bytes(checkpoint.model) +
                      tensor_bytes(checkpoint.buffers);
  for (const auto& [state, tensors] : checkpoint.optimizer)
    bytes += tensor_bytes(tensors);
  return bytes + checkpoint.metrics.columns.size() * (checkpoint.metrics.rows.size() * sizeof(double) + 1024);
}

Hdf5Image build_image(const CheckpointView& checkpoint) {
  const Hdf5Lock lock;
  Builder builder(expected_bytes(checkpoint));
  write_format(builder);
  builder.add_text(builder.root(), "", "config", checkpoint.config);
  builder.add_tensors(create_group(builder.root(), "model"), "model/", checkpoint.model);
  builder.add_tensors(create_group(builder.root(), "buffers"), "buffers/", checkpoint.buffers);
  {
    const Hdf5Group optimizer = create_group(builder.root(), "optimizer");
    for (const auto& [state, tensors] : checkpoint.optimizer)
      builder.add_tensors(create_group(optimizer.id(), state), "optimizer/" + state + '/', tensors);
  }
  write_progress(builder, checkpoint.progress);
  write_metrics(builder, checkpoint.metrics);
  return builder.finish();
}

/// Rows of another length than the columns would be found only while the file is being built.
void check_metrics(const MetricTable& metrics) {
  for (const std::vector<double>& row : metrics.rows)
    if (row.size() != metrics.columns.size() || row.empty())
      throw CheckpointError(
          fmt::format("a metric row has {} values for {} columns", row.size(), metrics.columns.size()));
}

}  // namespace

std::string metric_path(const std::string& column) {
  for (const std::string split : {"train", "val"})
    if (column.size() > split.size() + 1 && column.starts_with(split + '_'))
      return split + '/' + column.substr(split.size() + 1);
  return "run/" + column;
}

std::string metric_column(const std::string& path) {
  const std::size_t slash = path.find('/');
  const std::string split = path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  return split == "run" ? name : split + '_' + name;
}

CheckpointView view_of(const Checkpoint& checkpoint) {
  const auto view = [](const std::vector<NamedTensor>& tensors) {
    std::vector<TensorView> views;
    for (const NamedTensor& tensor : tensors)
      views.push_back({tensor.name, tensor.type, tensor.shape, tensor.data});
    return views;
  };
  CheckpointView result{checkpoint.config,   view(checkpoint.model), view(checkpoint.buffers), {},
                        checkpoint.progress, checkpoint.metrics};
  for (const auto& [state, tensors] : checkpoint.optimizer)
    result.optimizer[state] = view(tensors);
  return result;
}

Checkpoint to_checkpoint(const CheckpointView& view) {
  const auto copy = [](const std::vector<TensorView>& views) {
    std::vector<NamedTensor> tensors;
    for (const TensorView& tensor : views)
      tensors.push_back({tensor.name, tensor.type, tensor.shape, {tensor.data.begin(), tensor.data.end()}});
    return tensors;
  };
  Checkpoint result{view.config, copy(view.model), copy(view.buffers), {}, view.progress, view.metrics};
  for (const auto& [state, tensors] : view.optimizer)
    result.optimizer[state] = copy(tensors);
  return result;
}

WrittenFile write_checkpoint(const std::filesystem::path& path, const CheckpointView& checkpoint,
                             const std::function<void()>& alive) {
  util::Stopwatch watch;
  WrittenFile written;
  const Hdf5Image image = [&] {
    try {
      check_metrics(checkpoint.metrics);
      return build_image(checkpoint);
    } catch (const CheckpointError& error) {
      throw CheckpointError(fmt::format("cannot build checkpoint '{}': {}", path.string(), error.what()),
                            error.hint());
    }
  }();
  written.build_seconds = watch.lap();
  write_sealed(path, image.bytes(), alive);
  written.write_seconds = watch.lap();
  written.bytes = kUserBlockBytes + image.bytes().size();
  return written;
}

WrittenFile write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  return write_checkpoint(path, view_of(checkpoint));
}

}  // namespace kolo::io
