#include "kolo/io/sealed_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "kolo/io/atomic_file.hpp"
#include "kolo/io/descriptor.hpp"
#include "kolo/util/digest.hpp"
#include "kolo/util/error.hpp"

namespace kolo::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the user block is little-endian");

constexpr std::string_view kMagic = "KOLOCKPT";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kDamagedHint =
    "use another checkpoint of the run; a resumed run takes the one before by itself";

struct UserBlock {
  std::array<char, 8> magic{};
  std::uint32_t version = kVersion;
  std::uint32_t block_bytes = kUserBlockBytes;
  std::uint64_t image_bytes = 0;
  std::uint64_t image_digest = 0;
  std::array<std::byte, 480> zeros{};
};
static_assert(sizeof(UserBlock) == kUserBlockBytes);

[[noreturn]] void throw_damaged(const std::filesystem::path& path, std::string_view what) {
  throw CheckpointError(fmt::format("'{}' is damaged: {}", path.string(), what), std::string(kDamagedHint));
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error) {
  throw CheckpointError(fmt::format("cannot read '{}': {}", path.string(), error_text(error)),
                        "check the path and its permissions");
}

/// Everything but the digest.
void check_user_block(const std::filesystem::path& path, const UserBlock& block, std::uint64_t file_bytes) {
  if (std::string_view(block.magic.data(), block.magic.size()) != kMagic)
    throw CheckpointError(
        fmt::format("'{}' is not a file of kolo's: it does not begin with {}", path.string(), kMagic),
        "a file that was edited or repacked by HDF5 tools loses kolo's user block");
  if (block.version != kVersion)
    throw CheckpointError(fmt::format("'{}' has version {} of the user block; this kolo reads version {}",
                                      path.string(), block.version, kVersion),
                          "read it with the kolo that wrote it, or a newer one");
  if (block.block_bytes != kUserBlockBytes || block.zeros != decltype(block.zeros){})
    throw_damaged(path, "its user block has unexpected content");
  if (block.image_bytes != file_bytes - kUserBlockBytes)
    throw_damaged(path, fmt::format("it has {} bytes after the user block; expected {}",
                                    file_bytes - kUserBlockBytes, block.image_bytes));
}

}  // namespace

void write_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                  const std::function<void()>& alive) {
  UserBlock block;
  std::copy(kMagic.begin(), kMagic.end(), block.magic.begin());
  block.image_bytes = image.size();
  util::Digest digest;
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&block, 1)));
  file.write_large(image, [&](std::span<const std::byte> piece) {
    digest.add(piece);
    if (alive) alive();
  });
  block.image_digest = digest.value();
  file.overwrite_start(std::as_bytes(std::span(&block, 1)));
  file.commit();
}

Bytes read_sealed(const std::filesystem::path& path) {
  const Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw_unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw_unreadable(path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < kUserBlockBytes)
    throw_damaged(path, fmt::format("it has {} bytes; expected at least {}", size, kUserBlockBytes));

  const auto fill = [&](std::span<std::byte> part) {
    const Transfer transfer = read_all(file.get(), part);
    if (transfer.error != 0) throw_unreadable(path, transfer.error);
    if (transfer.done != part.size()) throw_damaged(path, "it became shorter while it was read");
  };
  // Before any memory is taken for it: a damaged file may have any size.
  UserBlock block;
  fill(std::as_writable_bytes(std::span(&block, 1)));
  check_user_block(path, block, size);
  Bytes bytes(size);
  std::memcpy(bytes.span().data(), &block, kUserBlockBytes);
  fill(bytes.span().subspan(kUserBlockBytes));
  if (util::digest(std::as_const(bytes).span().subspan(kUserBlockBytes)) != block.image_digest)
    throw_damaged(path, "the checksum of its content does not match");
  return bytes;
}

}  // namespace kolo::io
