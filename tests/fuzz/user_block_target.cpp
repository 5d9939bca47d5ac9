// The user block of checkpoints and metrics.h5, which stands between damaged bytes and HDF5.
//
// Input: a byte of flags (below), then the file, in which the target can make single fields right: edits
// would hardly ever hit the right checksum.  The oracle is the layout in sealed_file.hpp, read anew here: a
// file is accepted exactly when it keeps to it.  HDF5 itself is not given any of this: it can hang on damaged
// metadata, which is why the user block is there.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "fuzz/memory_file.hpp"
#include "fuzz/require.hpp"
#include "kolo/io/sealed_file.hpp"
#include "kolo/util/digest.hpp"

namespace kolo::fuzz {
namespace {

using File = std::vector<std::byte>;

constexpr unsigned kRightMagic = 1;
constexpr unsigned kRightLength = 2;
constexpr unsigned kRightChecksum = 4;
constexpr std::string_view kMagic = "KOLOCKPT";

template <class T>
T field(const File& file, std::size_t at) {
  T value{};
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

void set_field(File& file, std::size_t at, std::uint64_t value) {
  std::memcpy(&file[at], &value, sizeof(value));
}

std::uint64_t checksum(const File& file) {
  return util::digest(std::span(file).subspan(io::kUserBlockBytes));
}

File make_file(std::span<const std::uint8_t> input) {
  const unsigned flags = input.front();
  const auto bytes = std::as_bytes(input.subspan(1));
  File file(bytes.begin(), bytes.end());
  if (file.size() < io::kUserBlockBytes) return file;
  if ((flags & kRightMagic) != 0) std::memcpy(file.data(), kMagic.data(), kMagic.size());
  if ((flags & kRightLength) != 0) set_field(file, 16, file.size() - io::kUserBlockBytes);
  if ((flags & kRightChecksum) != 0) set_field(file, 24, checksum(file));
  return file;
}

bool keeps_to_layout(const File& file) {
  if (file.size() < io::kUserBlockBytes) return false;
  const std::string_view magic(reinterpret_cast<const char*>(file.data()), kMagic.size());
  return magic == kMagic && field<std::uint32_t>(file, 8) == 1 && field<std::uint32_t>(file, 12) == 512 &&
         field<std::uint64_t>(file, 16) == file.size() - io::kUserBlockBytes &&
         field<std::uint64_t>(file, 24) == checksum(file) &&
         std::ranges::all_of(std::span(file).subspan(32, 480), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace
}  // namespace kolo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace kolo;
  if (size == 0) return 0;
  const fuzz::File file = fuzz::make_file({bytes, size});
  const fuzz::MemoryFile stored(file);
  std::optional<io::Bytes> read;
  const bool accepted = fuzz::accepts<CheckpointError>([&] { read = io::read_sealed(stored.path()); });
  fuzz::require(accepted == fuzz::keeps_to_layout(file),
                "a file is accepted exactly when its user block is right");
  if (accepted) {
    const io::Bytes& content = *read;
    fuzz::require(std::ranges::equal(content.span(), file), "what was read is the file");
  }
  return 0;
}
