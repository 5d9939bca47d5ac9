#include "kolo/io/inspect.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "kolo/io/bytes.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/error.hpp"

namespace kolo::io {
namespace {

namespace fs = std::filesystem;

void refuse_directory(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) return;
  std::string hint = "kolo verify checks a whole run directory";
  for (const fs::path& newest : {path / "last.h5", path / "checkpoints/last.h5"})
    if (fs::exists(newest, unknown)) hint += "; its newest checkpoint is " + newest.string();
  throw ConfigError(fmt::format("'{}' is a directory; expected a checkpoint or a metrics.h5", path.string()),
                    hint);
}

std::string text_attribute(hid_t object, const std::string& name) {
  if (H5Aexists(object, name.c_str()) <= 0) return {};
  const std::vector<std::string> texts = read_text_attribute(object, name);
  return texts.empty() ? std::string() : texts.front();
}

FormatFacts read_format(hid_t root) {
  const Hdf5Group group = open_group(root, "format");
  return {read_integer_attribute(group.id(), "version"), text_attribute(group.id(), "creator"),
          text_attribute(group.id(), "created")};
}

/// The inverse of write_metrics_hdf5.
MetricTable read_metrics(hid_t root) {
  MetricTable table{read_text_attribute(root, "columns"), {}};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string what = fmt::format("the data set '{}'", table.columns[i]);
    check_link_name(table.columns[i]);
    const Hdf5Array array = read_array(open_dataset(root, table.columns[i]), what);
    const std::size_t rows = array.data.size() / sizeof(double);
    if (i == 0) table.rows.resize(rows, std::vector<double>(table.columns.size()));
    if (array.type != DType::f64 || array.shape.size() != 1 || rows != table.rows.size())
      throw CheckpointError(
          fmt::format("{} is {} of shape [{}]; expected fp64 of one dimension and as many values as the "
                      "other columns",
                      what, name_of(array.type), fmt::join(array.shape, ", ")));
    for (std::size_t row = 0; row < rows; ++row)
      std::memcpy(&table.rows[row][i], array.data.data() + row * sizeof(double), sizeof(double));
  }
  return table;
}

/// The table of a metrics.h5, or what /format of a checkpoint says.
std::variant<FormatFacts, MetricTable> read_kind(const Bytes& bytes) {
  const Hdf5Lock lock;
  const Hdf5File file = open_image(bytes.span());
  if (H5Lexists(file.id(), "format", H5P_DEFAULT) > 0) return read_format(file.id());
  if (H5Aexists(file.id(), "columns") > 0) return read_metrics(file.id());
  throw CheckpointError("it has neither a group 'format' nor an attribute 'columns'",
                        "expected a checkpoint or a metrics.h5 of kolo's");
}

template <class T>
const T* find_progress(const Checkpoint& checkpoint, const char* key) {
  const auto found = checkpoint.progress.find(key);
  return found == checkpoint.progress.end() ? nullptr : std::get_if<T>(&found->second);
}

/// Visits groups in the order they are stored, with the name each has in the file.
template <class Visit>
void for_each_group(const Checkpoint& checkpoint, Visit&& visit) {
  visit(std::string("model"), checkpoint.model);
  visit(std::string("buffers"), checkpoint.buffers);
  for (const auto& [state, tensors] : checkpoint.optimizer)
    visit("optimizer/" + state, tensors);
}

template <class T>
void count_elements(const NamedTensor& tensor, TensorFacts& facts) {
  T least{};
  T greatest{};
  // Has a wider range than fp64 on x86, so that a sum of large values does not overflow.
  long double sum = 0;
  std::int64_t finite = 0;
  for (std::size_t offset = 0; offset + sizeof(T) <= tensor.data.size(); offset += sizeof(T)) {
    T value;
    std::memcpy(&value, tensor.data.data() + offset, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) {
        ++facts.non_finite;
        continue;
      }
    if (value == T{}) ++facts.zeros;
    least = finite == 0 || value < least ? value : least;
    greatest = finite == 0 || value > greatest ? value : greatest;
    sum += static_cast<long double>(value);
    ++finite;
  }
  facts.elements = finite + facts.non_finite;
  if (finite == 0) return;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  facts.min = static_cast<Wide>(least);
  facts.max = static_cast<Wide>(greatest);
  facts.mean = static_cast<double>(sum / static_cast<long double>(finite));
}

}  // namespace

KoloFile read_kolo_file(const fs::path& path) {
  refuse_directory(path);
  KoloFile file;
  std::variant<FormatFacts, MetricTable> kind;
  {
    const Bytes bytes = read_sealed(path);
    file.bytes = bytes.size();
    try {
      kind = read_kind(bytes);
    } catch (const CheckpointError& error) {
      throw CheckpointError(fmt::format("'{}' cannot be used: {}", path.string(), error.what()),
                            error.hint());
    }
  }
  if (MetricTable* table = std::get_if<MetricTable>(&kind)) {
    file.content = std::move(*table);
  } else {
    file.content = CheckpointFile{std::get<FormatFacts>(std::move(kind)), read_checkpoint(path)};
  }
  return file;
}

ProgressFacts progress_of(const Checkpoint& checkpoint) {
  const auto take = [&checkpoint](const char* key, auto& member) {
    using Value = typename std::remove_reference_t<decltype(member)>::value_type;
    if (const Value* value = find_progress<Value>(checkpoint, key)) member = *value;
  };
  ProgressFacts facts;
  take("epoch", facts.epoch);
  take("step", facts.step);
  take("step_in_epoch", facts.step_in_epoch);
  take("sample_offset", facts.sample_offset);
  take("world_size", facts.world_size);
  take("threads", facts.threads);
  take("global_batch", facts.global_batch);
  take("best_epoch", facts.best_epoch);
  take("best_step", facts.best_step);
  take("best_val_top1", facts.best_val_top1);
  take("strategy", facts.strategy);
  take("cpu", facts.processor);
  take("build", facts.build);
  return facts;
}

std::vector<GroupFacts> groups_of(const Checkpoint& checkpoint) {
  std::vector<GroupFacts> groups;
  for_each_group(checkpoint, [&groups](std::string name, const std::vector<NamedTensor>& tensors) {
    GroupFacts& group = groups.emplace_back(std::move(name));
    for (const NamedTensor& tensor : tensors) {
      ++group.tensors;
      group.elements += static_cast<std::int64_t>(tensor.data.size() / size_of(tensor.type));
      group.bytes += static_cast<std::int64_t>(tensor.data.size());
    }
  });
  return groups;
}

TensorFacts facts_of(std::string path, const NamedTensor& tensor) {
  TensorFacts facts;
  facts.path = std::move(path);
  facts.type = tensor.type;
  facts.shape = tensor.shape;
  switch (tensor.type) {
    case DType::f32:
      count_elements<float>(tensor, facts);
      break;
    case DType::f64:
      count_elements<double>(tensor, facts);
      break;
    case DType::i64:
      count_elements<std::int64_t>(tensor, facts);
      break;
    case DType::u8:
      count_elements<std::uint8_t>(tensor, facts);
      break;
  }
  return facts;
}

std::vector<TensorFacts> tensors_of(const Checkpoint& checkpoint) {
  std::vector<TensorFacts> facts;
  for_each_group(checkpoint, [&facts](const std::string& name, const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors)
      facts.push_back(facts_of(fmt::format("/{}/{}", name, tensor.name), tensor));
  });
  return facts;
}

}  // namespace kolo::io
