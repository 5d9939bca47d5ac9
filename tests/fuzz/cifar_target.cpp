// CIFAR-10 and CIFAR-100 files with their class names.
//
// Input: a byte of flags (below), a little-endian u16 that says how many bytes of the rest are the file of
// class names, those bytes, then the body.  Each byte of the body is the label of one record, whose other
// bytes the target makes up, so that edits do not drown among pixels; with kRaw the body is the file itself.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/data_set.hpp"
#include "fuzz/memory_file.hpp"
#include "kolo/data/cifar.hpp"
#include "support/temp_dir.hpp"

namespace kolo::fuzz {
namespace {

constexpr unsigned kCifar100 = 1;
constexpr unsigned kRaw = 2;
constexpr unsigned kTwoFiles = 4;  ///< the second is the first once more
constexpr unsigned kNames = 8;     ///< there is a file of class names
constexpr std::size_t kMostRecords = 12;
constexpr std::size_t kPixels = 3 * 32 * 32;

struct Set {
  unsigned flags = 0;
  std::string names;
  std::string records;

  data::CifarKind kind() const {
    return (flags & kCifar100) != 0 ? data::CifarKind::cifar100 : data::CifarKind::cifar10;
  }
  std::size_t label_bytes() const { return (flags & kCifar100) != 0 ? 2 : 1; }
  std::size_t record_bytes() const { return label_bytes() + kPixels; }
};

std::string make_records(std::string_view labels, std::size_t label_bytes) {
  std::string records;
  for (std::size_t i = 0; i < std::min(labels.size(), kMostRecords); ++i) {
    records.append(label_bytes, labels[i]);
    for (std::size_t k = 0; k < kPixels; ++k)
      records += static_cast<char>(31 * i + 7 * k);
  }
  return records;
}

Set split(std::string_view input) {
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(input[i])}; };
  Set set;
  set.flags = static_cast<unsigned>(byte(0));
  const std::string_view rest = input.substr(3);
  const std::size_t cut = std::min(byte(1) | byte(2) << 8, rest.size());
  set.names = rest.substr(0, cut);
  const std::string_view body = rest.substr(cut);
  set.records = (set.flags & kRaw) != 0 ? std::string(body) : make_records(body, set.label_bytes());
  return set;
}

/// Two folders whose files are links to files in memory: with class names and without.
class Folders {
 public:
  Folders() {
    for (const char* name : {"plain", "named"}) {
      std::filesystem::create_directory(folder_ / name);
      std::filesystem::create_symlink(records_.path(), folder_ / name / "one.bin");
    }
    for (const char* name : {"batches.meta.txt", "fine_label_names.txt"})
      std::filesystem::create_symlink(names_.path(), folder_ / "named" / name);
  }

  data::Dataset open(const Set& set) {
    names_.replace(std::as_bytes(std::span(set.names)));
    records_.replace(std::as_bytes(std::span(set.records)));
    const auto file = folder_ / ((set.flags & kNames) != 0 ? "named" : "plain") / "one.bin";
    std::vector<std::filesystem::path> files = {file};
    if ((set.flags & kTwoFiles) != 0) files.push_back(file);
    return data::Dataset(data::open_cifar(files, set.kind()));
  }

 private:
  test::TempDir folder_;
  MemoryFile records_, names_;
};

void require_content(const data::Dataset& set, const Set& source) {
  std::string records = source.records;
  if ((source.flags & kTwoFiles) != 0) records += source.records;
  require(static_cast<std::size_t>(set.size()) * source.record_bytes() == records.size(),
          "all records are there");
  require_pixels(set, std::as_bytes(std::span(records)), source.label_bytes(), source.record_bytes());
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * source.record_bytes() + source.label_bytes() - 1;
    require(set.label(i) == static_cast<unsigned char>(records[at]), "labels are those of the file");
  }
  const auto classes = static_cast<std::size_t>(set.num_classes());
  require(set.class_names().size() == ((source.flags & kNames) != 0 ? classes : 0), "each class has a name");
}

}  // namespace
}  // namespace kolo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace kolo;
  static fuzz::Folders folders;
  if (size < 3) return 0;
  const fuzz::Set source = fuzz::split({reinterpret_cast<const char*>(bytes), size});
  data::Dataset set;
  if (!fuzz::accepts<DataError>([&] { set = folders.open(source); })) return 0;
  fuzz::read_everything(set);
  fuzz::require_content(set, source);
  return 0;
}
