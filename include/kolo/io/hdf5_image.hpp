// HDF5 files in memory.
//
// HDF5 writing to a full disk can crash, and HDF5 reading damaged metadata can hang.  So it never touches the
// disk for checkpoints and metrics: a file is built by the core driver without backing store and taken out as
// bytes, which kolo's own code writes; and bytes are opened for reading only after their checksum was found
// right.  The image is also a snapshot: once taken, the tensors it was made from may change.  Callers hold an
// Hdf5Lock.
#pragma once

#include <cstddef>
#include <span>

#include "kolo/io/bytes.hpp"
#include "kolo/io/hdf5_handle.hpp"

namespace kolo::io {

/// An empty file.  `expected_bytes` sizes its first allocation, so that a good guess avoids copies while it
/// grows; `user_block` (0, 512 or a larger power of two) bytes are to precede it on disk.  Throws
/// CheckpointError.
Hdf5File create_memory_file(std::size_t expected_bytes, std::size_t user_block);

/// The finished file's bytes, from the HDF5 signature on: without the user block.  Close everything in it
/// before. Throws CheckpointError.
Bytes take_image(const Hdf5File& file);

/// Opens `image` (with or without its user block) read-only and without copying it; it must outlive the file
/// and all handles into it.  Throws CheckpointError.
Hdf5File open_image(std::span<const std::byte> image);

}  // namespace kolo::io
