// Files that say to hold more than they do.
#include "kolo/io/hdf5_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "kolo/io/hdf5_image.hpp"

namespace kolo::io::test {
namespace {

using testing::HasSubstr;

/// A data set of which nothing was written: HDF5 would read zeros.
Hdf5Dataset promised(const Hdf5File& file, hid_t type, hsize_t extent) {
  const Hdf5Space space(H5Screate_simple(1, &extent, nullptr), "space");
  return {H5Dcreate2(file.id(), "promised", type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          "data set"};
}

Hdf5Type text_type(std::size_t length) {
  Hdf5Type type(H5Tcopy(H5T_C_S1), "type");
  check_hdf5(H5Tset_size(type.id(), length), "size");
  return type;
}

TEST(Hdf5Values, NoMemoryIsTakenForWhatIsNotStored) {
  const Hdf5Lock lock;
  for (const hsize_t extent : {hsize_t{1} << 20, hsize_t{1} << 40, hsize_t{1} << 60}) {
    const Hdf5File file = create_memory_file(1 << 12, 0);
    const Hdf5Dataset array = promised(file, H5T_NATIVE_DOUBLE, extent);
    EXPECT_THAT(message_of<CheckpointError>([&] { read_array(array, "the array"); }), HasSubstr("the array"));
  }
  for (const hsize_t extent : {hsize_t{1} << 20, hsize_t{1} << 40, hsize_t{1} << 60}) {
    const Hdf5File file = create_memory_file(1 << 12, 0);
    const Hdf5Dataset digests = promised(file, H5T_NATIVE_UINT64, extent);
    EXPECT_THAT(message_of<CheckpointError>([&] { read_digests(digests, "the sums"); }),
                HasSubstr("the sums"));
  }
}

TEST(Hdf5Values, NoMemoryIsTakenForTextsThatAreNotStored) {
  const Hdf5Lock lock;
  for (const hsize_t extent : {hsize_t{1} << 20, hsize_t{1} << 40, hsize_t{1} << 59}) {
    const Hdf5File file = create_memory_file(1 << 12, 0);
    const Hdf5Dataset texts = promised(file, text_type(16).id(), extent);
    EXPECT_THAT(message_of<CheckpointError>([&] { read_texts(texts, "the texts"); }), HasSubstr("the texts"));
  }
}

}  // namespace
}  // namespace kolo::io::test
