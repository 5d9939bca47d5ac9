// HDF5 files in memory.
//
// HDF5 writing to a full disk can crash, and HDF5 reading damaged metadata can hang.  So it never touches the
// disk for checkpoints and metrics: a file is built by the core driver without backing store and taken out as
// bytes, which kolo's own code writes; and bytes are opened for reading only after their checksum was found
// right.  Callers hold an Hdf5Lock unless a comment says otherwise.
#pragma once

#include <cstddef>
#include <span>

#include "kolo/io/hdf5_handle.hpp"

namespace kolo::io {

/// An empty file.  `expected_bytes` sizes its first allocation, so that a good guess avoids copies while it
/// grows; `user_block` (0, 512 or a larger power of two) bytes are to precede it on disk.  Throws
/// CheckpointError.
Hdf5File create_memory_file(std::size_t expected_bytes, std::size_t user_block);

/// A finished file, and its bytes where HDF5 has them: no copy is made.
class Hdf5Image {
 public:
  /// Takes over a file of create_memory_file in which everything else is closed.  Throws CheckpointError.
  explicit Hdf5Image(Hdf5File file);
  Hdf5Image(Hdf5Image&&) noexcept = default;
  /// Takes an Hdf5Lock: the one that made it may be gone.
  ~Hdf5Image();

  /// From the HDF5 signature on: without the user block.  Needs no lock.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Hdf5File file_;
  std::span<const std::byte> bytes_;
};

/// Opens `image` (with or without its user block) read-only and without copying it; it must outlive the file
/// and all handles into it.  Throws CheckpointError.
Hdf5File open_image(std::span<const std::byte> image);

}  // namespace kolo::io
