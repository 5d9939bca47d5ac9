#include "kolo/data/source.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "kolo/data/cifar.hpp"
#include "kolo/data/hdf5_set.hpp"
#include "kolo/data/idx.hpp"
#include "kolo/data/synthetic.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

using config::DataFormat;

const char* name_of(DataFormat format) {
  switch (format) {
    case DataFormat::synthetic:
      return "synthetic";
    case DataFormat::idx:
      return "idx";
    case DataFormat::cifar10:
      return "cifar10";
    case DataFormat::cifar100:
      return "cifar100";
    case DataFormat::hdf5:
      return "hdf5";
  }
  return "?";
}

struct Place {
  std::filesystem::path path;
  const char* key;
  bool required;
};

Place place_of(const config::DataSection& section, Part part) {
  if (part == Part::test && !section.test_path.empty()) return {section.test_path, "data.test_path", true};
  if (section.path.empty()) {
    throw ConfigError(
        fmt::format("data.path is empty: data.format = {} needs the folder or file with the training set",
                    name_of(section.format)));
  }
  std::filesystem::path path = section.path;
  std::error_code ignored;
  const bool one_file = section.format != DataFormat::hdf5 && std::filesystem::is_regular_file(path, ignored);
  // The test set beside a training set that is given as a file.
  if (part == Part::test && one_file) path = std::filesystem::absolute(path).parent_path();
  return {path, "data.path", part == Part::train};
}

// A required set that is not there, or nothing.
std::optional<Source> absent(const Place& place, Part part, const std::string& names) {
  if (!place.required) return std::nullopt;
  throw DataError(fmt::format("{}: no {} set found: looked for {}", place.path.string(),
                              part == Part::train ? "training" : "test", names),
                  fmt::format("Set {} to where it is.", place.key));
}

std::optional<Source> open_cifar_part(const Place& place, CifarKind kind, Part part) {
  const auto files = find_cifar(place.path, kind, part);
  if (!files) return absent(place, part, cifar_names(kind, part));
  return open_cifar(*files, kind);
}

std::optional<Source> open_synthetic(const config::DataSection& section, std::int64_t seed, Part part) {
  const std::int64_t samples = part == Part::train ? section.samples : section.test_samples;
  if (part == Part::test && samples == 0) return std::nullopt;
  return make_synthetic({static_cast<std::uint64_t>(seed),
                         part,
                         samples,
                         {section.channels, section.height, section.width},
                         section.classes});
}

}  // namespace

std::optional<std::int64_t> checked_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

std::optional<Source> open_source(const config::DataSection& section, std::int64_t seed, Part part) {
  if (section.format == DataFormat::synthetic) return open_synthetic(section, seed, part);
  const Place place = place_of(section, part);
  if (section.format == DataFormat::cifar10) return open_cifar_part(place, CifarKind::cifar10, part);
  if (section.format == DataFormat::cifar100) return open_cifar_part(place, CifarKind::cifar100, part);
  if (section.format == DataFormat::idx) {
    const auto files = find_idx(place.path, part);
    if (!files) return absent(place, part, idx_names(part));
    return open_idx(*files);
  }
  std::optional<DecodedSource> set = open_hdf5(place.path, part);
  if (!set) return absent(place, part, part == Part::train ? "the group /train" : "the group /test");
  return std::move(*set);
}

DatasetContents with_storage(const DecodedSource& source, std::span<const std::byte> pixels,
                             std::span<const std::int64_t> labels, std::shared_ptr<const void> owner) {
  DatasetContents contents = source.header;
  contents.pixels = {{pixels.data(), source.size, source.pixel_bytes() / source.size}};
  contents.labels = labels;
  contents.owner = std::move(owner);
  return contents;
}

Dataset read_source(Source source, std::int64_t num_classes) {
  if (const auto* decoded = std::get_if<DecodedSource>(&source)) {
    struct Memory {
      std::vector<std::byte> pixels;
      std::vector<std::int64_t> labels;
    };
    auto memory = std::make_shared<Memory>();
    memory->pixels.resize(static_cast<std::size_t>(decoded->pixel_bytes()));
    memory->labels.resize(static_cast<std::size_t>(decoded->size));
    decoded->decode(memory->pixels, memory->labels);
    source = with_storage(*decoded, memory->pixels, memory->labels, memory);
  }
  DatasetContents contents = std::get<DatasetContents>(std::move(source));
  if (num_classes > 0) contents.num_classes = num_classes;
  return Dataset(std::move(contents));
}

}  // namespace kolo::data
