// MNIST's IDX format (Y. LeCun's description: big-endian magic 00 00 type rank, then the dimensions, then the
// data).
//
// Images are unsigned bytes of rank 3 (N, H, W) or 4 (N, C, H, W), labels unsigned bytes of rank 1.  Plain
// files are mapped, gzipped ones inflated; the content tells which, not the file name.  The format has no
// class names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kolo/data/source.hpp"

namespace kolo::data {

struct IdxFiles {
  std::filesystem::path images;
  std::filesystem::path labels;
};

/// `path` is a folder with {train,t10k}-images-idx3-ubyte[.gz] and -labels-idx1-ubyte[.gz] (the test set may
/// also be named test-...; a dot may stand for the dash before idx), or an images file whose labels file is
/// named likewise.  For a part of which no file is there: nothing.  Throws DataError when `path` is missing
/// or only half of the part is there.
std::optional<IdxFiles> find_idx(const std::filesystem::path& path, Part part);
/// The names looked for, for messages.
std::string idx_names(Part part);

/// Throws DataError for a missing, damaged, truncated or over-long file, or one of another type.
Source open_idx(const IdxFiles& files);

}  // namespace kolo::data
