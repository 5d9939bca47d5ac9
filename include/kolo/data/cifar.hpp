// The binary version of CIFAR-10 and CIFAR-100 (A. Krizhevsky's description).
//
// A file is a row of records: one label byte (CIFAR-100: coarse label, then fine label; the fine one is
// used), then 3 x 32 x 32 bytes, channel first.  The files are mapped and never copied.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kolo/data/source.hpp"

namespace kolo::data {

enum class CifarKind { cifar10, cifar100 };

/// `path` is the folder with data_batch_1..5.bin and test_batch.bin (CIFAR-100: train.bin and test.bin), the
/// folder above the one the archive unpacks to, or one such file.  For a part of which no file is there:
/// nothing.  Throws DataError when `path` is missing or some files of the part are.
std::optional<std::vector<std::filesystem::path>> find_cifar(const std::filesystem::path& path,
                                                             CifarKind kind, Part part);
/// The names looked for, for messages.
std::string cifar_names(CifarKind kind, Part part);

/// One set of all files in order; class names from batches.meta.txt or fine_label_names.txt beside the first,
/// if there. Throws DataError for a size that is not a multiple of the record's, a label out of range or a
/// wrong number of names.
DatasetContents open_cifar(const std::vector<std::filesystem::path>& files, CifarKind kind);

}  // namespace kolo::data
