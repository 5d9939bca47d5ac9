// An HDF5 file whose damage is noticed before HDF5 reads a byte of it.
//
// Checkpoints and metrics.h5 are such files.  HDF5 lets a file begin with a user block that it ignores.  Ours
// has 512 bytes, integers little-endian:
//
//     0  "KOLOCKPT"                      16  u64 bytes after the user block
//     8  u32 version of this block (1)   24  u64 XXH3 of those bytes
//    12  u32 bytes of this block (512)   32  zeros
//
// A checksum inside an HDF5 file could not do this, because the parser that finds it would have to trust the
// file. Invariant: what read_sealed returns is bit for bit what write_sealed was given; any flipped bit and
// any missing or added byte is an error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "kolo/io/bytes.hpp"

namespace kolo::io {

inline constexpr std::size_t kUserBlockBytes = 512;

/// Writes user block and `image` atomically (atomic_file.hpp); `alive` is called after each piece of a few
/// megabytes.  Throws CheckpointError.
void write_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                  const std::function<void()>& alive = {});

/// The whole file including its user block, checked.  Throws CheckpointError naming the file and what is
/// wrong.
Bytes read_sealed(const std::filesystem::path& path);

}  // namespace kolo::io
