#include "kolo/data/data_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "kolo/comm/agree.hpp"
#include "kolo/data/source.hpp"
#include "kolo/data/split.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

enum class Kind : std::int64_t { none, mapped, decoded };

// Class names and description in one text, each ended by a byte that no name holds.
std::string pack_texts(const DatasetContents& header) {
  std::string text = header.description + '\0';
  for (const std::string& name : header.class_names)
    text += name + '\0';
  return text;
}

void unpack_texts(std::string_view text, DatasetContents& header) {
  const auto next = [&text] {
    const std::size_t end = text.find('\0');
    std::string word(text.substr(0, end));
    text.remove_prefix(end + 1);
    return word;
  };
  header.description = next();
  while (!text.empty())
    header.class_names.push_back(next());
}

// The header that the node's first rank read, without its decode function on the others.
DecodedSource broadcast_header(DecodedSource source, const comm::Communicator& node) {
  DatasetContents& header = source.header;
  std::array<std::int64_t, 6> numbers{source.size,         header.shape.channels,
                                      header.shape.height, header.shape.width,
                                      header.num_classes,  static_cast<std::int64_t>(header.pixel_type)};
  node.broadcast(std::as_writable_bytes(std::span(numbers)), 0);
  const std::string texts = node.broadcast(pack_texts(header), 0);
  if (node.rank() == 0) return source;
  source.size = numbers[0];
  header.shape = {numbers[1], numbers[2], numbers[3]};
  header.num_classes = numbers[4];
  header.pixel_type = static_cast<PixelType>(numbers[5]);
  unpack_texts(texts, header);
  return source;
}

// A node's window: the pixels, then the labels.
struct Window {
  std::span<std::byte> pixels;
  std::span<std::int64_t> labels;
};

std::size_t label_offset(const DecodedSource& source) {
  return (static_cast<std::size_t>(source.pixel_bytes()) + 63) / 64 * 64;
}

std::size_t window_bytes(const DecodedSource& source) {
  return label_offset(source) + static_cast<std::size_t>(source.size) * sizeof(std::int64_t);
}

Window window_of(const DecodedSource& source, std::span<std::byte> bytes) {
  auto* labels = reinterpret_cast<std::int64_t*>(bytes.data() + label_offset(source));
  return {bytes.first(static_cast<std::size_t>(source.pixel_bytes())),
          {labels, static_cast<std::size_t>(source.size)}};
}

class Opener {
 public:
  Opener(const config::DataSection& section, std::int64_t seed, const comm::Communicator& world,
         const comm::Communicator& node)
      : section_(section), seed_(seed), world_(world), node_(node) {}

  // num_classes 0: as the set says.  A window it makes is added to `shared` before anything can fail.
  std::optional<Dataset> open(Part part, std::int64_t num_classes,
                              std::vector<comm::SharedBuffer>& shared) const;
  void expect_same_everywhere(const Dataset& set) const;

 private:
  Kind agreed_kind(const std::optional<Source>& first, Part part) const;
  DatasetContents decode_shared(std::optional<Source> first, std::vector<comm::SharedBuffer>& shared) const;

  const config::DataSection& section_;
  std::int64_t seed_;
  const comm::Communicator& world_;
  const comm::Communicator& node_;
};

// What the first rank of each node found: the same kind on all nodes, or an error on all ranks.
Kind Opener::agreed_kind(const std::optional<Source>& first, Part part) const {
  Kind mine = Kind::none;
  if (first) mine = std::holds_alternative<DecodedSource>(*first) ? Kind::decoded : Kind::mapped;
  const Kind kind{node_.broadcast(static_cast<std::int64_t>(mine), 0)};
  const std::vector<std::int64_t> kinds = world_.all_gather(static_cast<std::int64_t>(kind));
  const auto other = std::ranges::find_if(kinds, [&](std::int64_t k) { return k != kinds.front(); });
  comm::agree(world_, [&] {
    if (other == kinds.end()) return;
    throw DataError(
        fmt::format("the {} set is not the same on all nodes: rank {} finds other files than rank 0",
                    part == Part::train ? "training" : "test", other - kinds.begin()));
  });
  return kind;
}

DatasetContents Opener::decode_shared(std::optional<Source> first,
                                      std::vector<comm::SharedBuffer>& shared) const {
  const bool decodes = node_.rank() == 0;
  const DecodedSource source =
      broadcast_header(decodes ? std::get<DecodedSource>(std::move(*first)) : DecodedSource{}, node_);
  shared.emplace_back();
  comm::agree(world_, [&] { shared.back() = comm::SharedBuffer::allocate(node_, window_bytes(source)); });
  const Window window = window_of(source, shared.back().bytes());
  comm::agree(world_, [&] {
    if (decodes) source.decode(window.pixels, window.labels);
  });
  shared.back().fence(node_);
  return with_storage(source, window.pixels, window.labels, nullptr);
}

std::optional<Dataset> Opener::open(Part part, std::int64_t num_classes,
                                    std::vector<comm::SharedBuffer>& shared) const {
  const bool looks = node_.rank() == 0;
  std::optional<Source> source = comm::agree(
      world_, [&] { return looks ? open_source(section_, seed_, part) : std::optional<Source>{}; });
  const Kind kind = agreed_kind(source, part);
  if (kind == Kind::none) return std::nullopt;
  if (kind == Kind::decoded) {
    source = decode_shared(std::move(source), shared);
  } else {
    source =
        comm::agree(world_, [&] { return looks ? std::move(source) : open_source(section_, seed_, part); });
  }
  return comm::agree(world_, [&] {
    if (!source)
      throw DataError(fmt::format("{}: the files have vanished while they were opened", section_.path));
    return read_source(std::move(*source), num_classes);
  });
}

void Opener::expect_same_everywhere(const Dataset& set) const {
  const std::vector<std::int64_t> digests = world_.all_gather(static_cast<std::int64_t>(set.fingerprint()));
  const auto other = std::ranges::find_if(digests, [&](std::int64_t d) { return d != digests.front(); });
  comm::agree(world_, [&] {
    if (other == digests.end()) return;
    throw DataError(fmt::format("{}: rank {} holds other data under this name than rank 0", set.description(),
                                other - digests.begin()),
                    "Copy the same files to every node, or use a folder that all nodes share.");
  });
}

void check_same_shape(const Dataset& train, const Dataset& test) {
  if (test.shape() == train.shape()) return;
  throw DataError(fmt::format("{}: images of shape {}: expected {}, the shape of the training images in {}",
                              test.description(), to_string(test.shape()), to_string(train.shape()),
                              train.description()));
}

}  // namespace

void DataSets::close() {
  train = Dataset{};
  val.reset();
  test.reset();
  for (comm::SharedBuffer& buffer : shared)
    buffer.close();
  shared.clear();
}

DataSets open_data_sets(const config::DataSection& section, std::int64_t seed,
                        const comm::Communicator& world, const comm::Communicator& node) {
  const Opener opener(section, seed, world, node);
  DataSets sets;
  try {
    sets.train = opener.open(Part::train, 0, sets.shared).value();
    opener.expect_same_everywhere(sets.train);
    sets.test = opener.open(Part::test, sets.train.num_classes(), sets.shared);
    if (sets.test) opener.expect_same_everywhere(*sets.test);
    comm::agree(world, [&] {
      if (sets.test) check_same_shape(sets.train, *sets.test);
      if (section.val_fraction == 0) return;
      TrainVal parts = split_validation(sets.train, section.val_fraction, seed);
      sets.train = std::move(parts.train);
      sets.val = std::move(parts.val);
    });
  } catch (const comm::AgreedError&) {
    sets.close();
    throw;
  }
  return sets;
}

}  // namespace kolo::data
