// The run's data sets, opened by all ranks together.
//
// Mapped formats are opened by every rank; the kernel keeps one copy a node.  Decoded ones are decoded once a
// node, by its first rank, straight into a shared window that the others read.  Every step in which one rank
// can fail alone ends in comm::agree over the world, so that all ranks throw the same error; and a digest of
// what was read is compared, because nodes with folders of their own may hold different files under one name.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/shared_buffer.hpp"
#include "kolo/config/config.hpp"
#include "kolo/data/dataset.hpp"

namespace kolo::data {

/// Windows are closed explicitly (see comm::SharedBuffer): destroy every Loader and every other copy of a
/// Dataset, then call close().
struct DataSets {
  Dataset train;
  std::optional<Dataset> val;   ///< when data.val_fraction > 0
  std::optional<Dataset> test;  ///< when there is one
  std::vector<comm::SharedBuffer> shared;

  /// Collective; afterwards the sets are empty.
  void close();
};

/// Collective over `world`; `node` is world.split_by_node().  The seed makes synthetic samples and the
/// validation split. Test labels must be among the classes of the training set, test images of its shape.
/// Throws comm::AgreedError on all ranks, with the exit code of the DataError, ConfigError or CommError
/// behind it.
DataSets open_data_sets(const config::DataSection& section, std::int64_t seed,
                        const comm::Communicator& world, const comm::Communicator& node);

}  // namespace kolo::data
