#include "kolo/data/idx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "find_files.hpp"
#include "idx_file.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& prefixes(Part part) {
  static const std::vector<std::string> train = {"train"};
  static const std::vector<std::string> test = {"t10k", "test"};
  return part == Part::train ? train : test;
}

std::vector<std::string> spellings(const std::string& prefix, const std::string& content,
                                   const std::string& kind) {
  const std::string start = prefix + "-" + content;
  return {start + "-" + kind + "-ubyte", start + "-" + kind + "-ubyte.gz", start + "." + kind + "-ubyte",
          start + "." + kind + "-ubyte.gz"};
}

std::optional<IdxFiles> find_in_folder(const fs::path& folder, Part part) {
  for (const std::string& prefix : prefixes(part)) {
    std::vector<std::string> images = spellings(prefix, "images", "idx3");
    std::ranges::copy(spellings(prefix, "images", "idx4"), std::back_inserter(images));
    const std::vector<std::string> labels = spellings(prefix, "labels", "idx1");
    const auto images_file = first_file(folder, images);
    const auto labels_file = first_file(folder, labels);
    if (images_file && labels_file) return IdxFiles{*images_file, *labels_file};
    if (images_file || labels_file) {
      throw DataError(fmt::format("{}: {} is there, but none of {}", folder.string(),
                                  (images_file ? *images_file : *labels_file).filename().string(),
                                  fmt::join(images_file ? labels : images, ", ")));
    }
  }
  return std::nullopt;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.rfind(what);
  if (at != std::string::npos) text.replace(at, what.size(), by);
}

IdxFiles beside_images(const fs::path& images) {
  std::string name = images.filename().string();
  if (name.find("images") == std::string::npos) {
    throw DataError(fmt::format(
        "{}: cannot tell where the labels are: expected a file name with \"images\" in it", images.string()));
  }
  replace(name, "images", "labels");
  replace(name, "idx3", "idx1");
  replace(name, "idx4", "idx1");
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const auto labels = first_file(images.parent_path(), {name, name + ".gz"});
  if (!labels) {
    throw DataError(
        fmt::format("{}: no labels beside it: looked for {} and {}.gz", images.string(), name, name));
  }
  return {images, *labels};
}

// dims of images: N, H, W or N, C, H, W
ImageShape shape_of(const std::vector<std::int64_t>& dims) {
  if (dims.size() == 3) return {1, dims[1], dims[2]};
  return {dims[1], dims[2], dims[3]};
}

std::vector<std::int64_t> widen(std::span<const std::byte> labels) {
  std::vector<std::int64_t> values(labels.size());
  std::ranges::transform(labels, values.begin(),
                         [](std::byte b) { return std::to_integer<std::int64_t>(b); });
  return values;
}

DatasetContents map_idx(DatasetContents header, const IdxFile& images, const IdxFile& labels) {
  struct Owner {
    std::shared_ptr<const MappedFile> images;
    std::vector<std::int64_t> labels;
  };
  auto owner = std::make_shared<const Owner>(Owner{images.map, widen(labels.mapped())});
  header.pixels = {{images.mapped().data(), images.dims[0], header.shape.numel()}};
  header.labels = owner->labels;
  header.owner = owner;
  return header;
}

DecodedSource inflate_idx(DatasetContents header, IdxFile images, IdxFile labels) {
  const std::int64_t size = images.dims[0];
  auto decode = [images = std::move(images), labels = std::move(labels)](std::span<std::byte> pixels,
                                                                         std::span<std::int64_t> values) {
    images.decode(pixels);
    std::vector<std::byte> raw(values.size());
    labels.decode(raw);
    std::ranges::copy(widen(raw), values.begin());
  };
  return {std::move(header), size, std::move(decode)};
}

}  // namespace

std::string idx_names(Part part) {
  const char* prefix = part == Part::train ? "train" : "t10k";
  return fmt::format("{0}-images-idx3-ubyte[.gz] and {0}-labels-idx1-ubyte[.gz]", prefix);
}

std::optional<IdxFiles> find_idx(const fs::path& path, Part part) {
  require_path(path, "a folder with " + idx_names(part));
  return is_folder(path) ? find_in_folder(path, part) : beside_images(path);
}

Source open_idx(const IdxFiles& files) {
  IdxFile images = IdxFile::open(files.images, IdxContent::images);
  IdxFile labels = IdxFile::open(files.labels, IdxContent::labels);
  if (images.dims[0] != labels.dims[0]) {
    throw DataError(fmt::format("{}: {} images, but {} has {} labels", files.images.string(), images.dims[0],
                                files.labels.string(), labels.dims[0]));
  }
  DatasetContents header;
  header.shape = shape_of(images.dims);
  header.description = files.images.string();
  if (images.map && labels.map) return map_idx(std::move(header), images, labels);
  return inflate_idx(std::move(header), std::move(images), std::move(labels));
}

}  // namespace kolo::data
