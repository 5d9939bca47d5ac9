#include "kolo/data/cifar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "find_files.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"
#include "mapped_file.hpp"

namespace kolo::data {
namespace {

namespace fs = std::filesystem;

constexpr ImageShape kShape{3, 32, 32};

struct Layout {
  std::int64_t label_bytes;  // the last one is the label
  std::int64_t classes;
  const char* names_file;
  const char* folder;  // what the archive unpacks to
  std::int64_t record() const { return label_bytes + kShape.numel(); }
};

Layout layout_of(CifarKind kind) {
  if (kind == CifarKind::cifar10) return {1, 10, "batches.meta.txt", "cifar-10-batches-bin"};
  return {2, 100, "fine_label_names.txt", "cifar-100-binary"};
}

std::vector<std::string> file_names(CifarKind kind, Part part) {
  if (kind == CifarKind::cifar100) return {part == Part::train ? "train.bin" : "test.bin"};
  if (part == Part::test) return {"test_batch.bin"};
  return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
}

std::vector<std::string> read_class_names(const fs::path& path, std::int64_t expected) {
  std::vector<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (const std::string_view name = util::trim(line); !name.empty()) names.emplace_back(name);
  }
  if (static_cast<std::int64_t>(names.size()) != expected) {
    throw DataError(
        fmt::format("{}: {} class names found, {} expected", path.string(), names.size(), expected));
  }
  return names;
}

// Appends the labels of one file; returns where its pixels lie.
PixelBlock read_file(const fs::path& path, const MappedFile& file, const Layout& layout,
                     std::vector<std::int64_t>& labels) {
  const std::span<const std::byte> bytes = file.bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size % layout.record() != 0) {
    throw DataError(fmt::format("{}: {} bytes found: expected a multiple of {}, the size of a record",
                                path.string(), size, layout.record()),
                    "The file is truncated or not of the binary version of this data set.");
  }
  const std::int64_t count = size / layout.record();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i * layout.record() + layout.label_bytes - 1);
    const auto label = std::to_integer<std::int64_t>(bytes[at]);
    if (label >= layout.classes) {
      throw DataError(fmt::format("{}: label {} of record {} is out of range: expected 0..{} ({} classes)",
                                  path.string(), label, i, layout.classes - 1, layout.classes));
    }
    labels.push_back(label);
  }
  return {bytes.data() + layout.label_bytes, count, layout.record()};
}

}  // namespace

std::string cifar_names(CifarKind kind, Part part) {
  return fmt::format("{}", fmt::join(file_names(kind, part), ", "));
}

std::optional<std::vector<fs::path>> find_cifar(const fs::path& path, CifarKind kind, Part part) {
  require_path(path, "a folder with " + cifar_names(kind, part));
  if (is_file(path)) return std::vector<fs::path>{path};
  const fs::path unpacked = path / layout_of(kind).folder;
  const fs::path folder = is_folder(unpacked) ? unpacked : path;
  std::vector<fs::path> found;
  std::vector<std::string> missing;
  for (const std::string& name : file_names(kind, part)) {
    if (is_file(folder / name)) {
      found.push_back(folder / name);
    } else {
      missing.push_back(name);
    }
  }
  if (found.empty()) return std::nullopt;
  if (!missing.empty()) {
    throw DataError(fmt::format("{}: {} of {} training files are missing: {}", folder.string(),
                                missing.size(), missing.size() + found.size(), fmt::join(missing, ", ")),
                    "To train on one file alone, set data.path to that file.");
  }
  return found;
}

DatasetContents open_cifar(const std::vector<fs::path>& files, CifarKind kind) {
  struct Owner {
    std::vector<std::shared_ptr<const MappedFile>> maps;
    std::vector<std::int64_t> labels;
  };
  const Layout layout = layout_of(kind);
  auto owner = std::make_shared<Owner>();
  DatasetContents contents;
  contents.shape = kShape;
  contents.num_classes = layout.classes;
  contents.description = files.size() == 1 ? files.front().string() : files.front().parent_path().string();
  for (const fs::path& path : files) {
    owner->maps.push_back(MappedFile::open(path));
    contents.pixels.push_back(read_file(path, *owner->maps.back(), layout, owner->labels));
  }
  const fs::path names = files.front().parent_path() / layout.names_file;
  if (is_file(names)) contents.class_names = read_class_names(names, layout.classes);
  contents.labels = owner->labels;
  contents.owner = std::move(owner);
  return contents;
}

}  // namespace kolo::data
