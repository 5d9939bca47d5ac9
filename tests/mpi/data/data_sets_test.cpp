#include "kolo/data/data_sets.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "kolo/comm/agree.hpp"
#include "kolo/data/source.hpp"
#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

using config::DataFormat;

const std::filesystem::path kSets = std::filesystem::path(KOLO_SOURCE_DIR) / "tests" / "data";

config::DataSection section_of(DataFormat format, const std::filesystem::path& path = {}) {
  config::DataSection section;
  section.format = format;
  section.path = path;
  section.samples = 101;
  section.test_samples = 11;
  section.height = 5;
  section.width = 7;
  return section;
}

class Open : public testing::Test {
 protected:
  DataSets open(const config::DataSection& section) const {
    return open_data_sets(section, 3, world_, node_);
  }

  // A folder that rank 0 makes and fills, and removes when the test ends.
  std::filesystem::path shared_folder(const std::function<void(const std::filesystem::path&)>& fill) {
    if (world_.rank() == 0) {
      folder_.emplace();
      fill(folder_->path());
    }
    return world_.broadcast(world_.rank() == 0 ? folder_->path().string() : std::string(), 0);
  }

  // Every rank gets the same error, with all of `words`, and they can still talk to one another.
  void expect_error_everywhere(const config::DataSection& section, ExitCode code,
                               std::initializer_list<std::string> words) const {
    std::string message = "no error";
    try {
      open(section).close();
    } catch (const comm::AgreedError& error) {
      EXPECT_EQ(error.code(), code);
      message = error.what();
    }
    for (const std::string& word : words)
      EXPECT_THAT(message, testing::HasSubstr(word));
    for (const std::string& other : world_.all_gather(message))
      EXPECT_EQ(other, message);
  }

  // Two groups of ranks that share nothing, as on two nodes; each starts in a folder of its own.
  void pretend_two_nodes(const std::function<void(const std::filesystem::path&)>& fill_first,
                         const std::function<void(const std::filesystem::path&)>& fill_second) {
    const auto root = shared_folder([&](const auto& path) {
      std::filesystem::create_directories(path / "0");
      std::filesystem::create_directories(path / "1");
      fill_first(path / "0");
      fill_second(path / "1");
    });
    const int group = world_.rank() % 2;
    node_ = world_.split(group);
    start_ = std::filesystem::current_path();
    std::filesystem::current_path(root / std::to_string(group));
  }

  void TearDown() override {
    if (start_) std::filesystem::current_path(*start_);
    world_.barrier();
  }

  comm::Communicator world_ = comm::Communicator::duplicate(MPI_COMM_WORLD);
  comm::Communicator node_ = world_.split_by_node();
  std::optional<test::TempDir> folder_;
  std::optional<std::filesystem::path> start_;
};

void expect_equal(const Dataset& set, const Dataset& direct) {
  ASSERT_EQ(set.size(), direct.size());
  EXPECT_EQ(set.shape(), direct.shape());
  EXPECT_EQ(set.num_classes(), direct.num_classes());
  EXPECT_EQ(set.description(), direct.description());
  EXPECT_TRUE(std::ranges::equal(set.class_names(), direct.class_names()));
  const std::int64_t bytes = set.shape().numel() * bytes_per_pixel(set.pixel_type());
  for (std::int64_t i = 0; i < set.size(); ++i) {
    EXPECT_EQ(set.label(i), direct.label(i));
    EXPECT_TRUE(std::equal(set.image(i), set.image(i) + bytes, direct.image(i))) << i;
  }
}

TEST_F(Open, EveryFormatEqualsReadingItDirectly) {
  for (const config::DataSection& section :
       {section_of(DataFormat::synthetic), section_of(DataFormat::idx, kSets / "idx"),
        section_of(DataFormat::idx, kSets / "idx_gz"), section_of(DataFormat::cifar100, kSets / "cifar100"),
        section_of(DataFormat::hdf5, kSets / "bytes.h5"),
        section_of(DataFormat::hdf5, kSets / "floats.h5")}) {
    SCOPED_TRACE(section.path);
    DataSets sets = open(section);
    expect_equal(sets.train, read_source(*open_source(section, 3, Part::train)));
    ASSERT_TRUE(sets.test);
    expect_equal(*sets.test, read_source(*open_source(section, 3, Part::test), sets.train.num_classes()));
    EXPECT_FALSE(sets.val);
    sets.close();
    EXPECT_EQ(sets.train.size(), 0);
  }
}

TEST_F(Open, TheValidationSplitIsTheSameOnAllRanks) {
  config::DataSection section = section_of(DataFormat::synthetic);
  section.val_fraction = 0.2;
  DataSets sets = open(section);
  ASSERT_TRUE(sets.val);
  EXPECT_EQ(sets.val->size(), 20);
  EXPECT_EQ(sets.train.size(), 81);
  const auto mine = static_cast<std::int64_t>(sets.val->fingerprint());
  EXPECT_THAT(world_.all_gather(mine), testing::Each(mine));
  sets.close();
}

TEST_F(Open, WithoutATestSetThereIsNone) {
  const auto folder = shared_folder([](const auto& path) { test::write_idx_set(path, "train", 7, 4); });
  DataSets sets = open(section_of(DataFormat::idx, folder));
  EXPECT_FALSE(sets.test);
  sets.close();
}

TEST_F(Open, AMissingFolderIsOneErrorOnAllRanks) {
  expect_error_everywhere(section_of(DataFormat::idx, "/nonexistent"), ExitCode::data,
                          {"/nonexistent", "train-images-idx3-ubyte"});
}

TEST_F(Open, AnEmptyPathIsOneErrorOnAllRanks) {
  expect_error_everywhere(section_of(DataFormat::hdf5), ExitCode::usage, {"data.path"});
}

TEST_F(Open, ADamagedGzipFileIsOneErrorOnAllRanks) {
  const auto folder = shared_folder([](const auto& path) {
    std::filesystem::copy(kSets / "idx_gz", path, std::filesystem::copy_options::recursive);
    const auto images = path / "train-images-idx3-ubyte.gz";
    std::string bytes = test::read_file(images);
    bytes[bytes.size() - 6] = static_cast<char>(~bytes[bytes.size() - 6]);
    test::write_file(images, bytes);
  });
  expect_error_everywhere(section_of(DataFormat::idx, folder), ExitCode::data, {"gzip", "train-images"});
}

TEST_F(Open, ADamagedTestSetIsOneErrorOnAllRanks) {
  const auto folder = shared_folder([](const auto& path) {
    std::filesystem::copy(kSets / "idx_gz", path, std::filesystem::copy_options::recursive);
    test::write_gzip(path / "t10k-labels-idx1-ubyte.gz", test::idx_bytes({6}, "\1\2\3"));
  });
  expect_error_everywhere(section_of(DataFormat::idx, folder), ExitCode::data, {"t10k-labels", "truncated"});
}

TEST_F(Open, ATestLabelBeyondTheTrainingClassesIsOneErrorOnAllRanks) {
  const auto folder = shared_folder([](const auto& path) {
    test::write_idx_set(path, "train", 7, 4);
    test::write_idx_set(path, "t10k", 7, 5);
  });
  expect_error_everywhere(section_of(DataFormat::idx, folder), ExitCode::data,
                          {"label 4 of sample 4", "4 classes"});
}

TEST_F(Open, ATestSetOfAnotherShapeIsOneErrorOnAllRanks) {
  const auto folder = shared_folder([](const auto& path) { test::write_idx_set(path, "t10k", 4, 4); });
  config::DataSection section = section_of(DataFormat::idx, kSets / "idx");
  section.test_path = folder;
  expect_error_everywhere(section, ExitCode::data, {"1x5x3", "1x6x5"});
}

TEST_F(Open, ATestSetThatIsNamedButAbsentIsOneErrorOnAllRanks) {
  config::DataSection section = section_of(DataFormat::idx, kSets / "idx");
  section.test_path = kSets;
  expect_error_everywhere(section, ExitCode::data, {"no test set found", "t10k-images-idx3-ubyte"});
}

TEST_F(Open, ASplitThatLeavesNothingIsOneErrorOnAllRanks) {
  config::DataSection section = section_of(DataFormat::idx, kSets / "idx");
  section.val_fraction = 0.01;
  expect_error_everywhere(section, ExitCode::data, {"data.val_fraction"});
}

void write_gzipped_set(const std::filesystem::path& folder, const std::string& labels) {
  const auto count = static_cast<std::uint32_t>(labels.size());
  test::write_gzip(folder / "train-images-idx3-ubyte.gz",
                   test::idx_bytes({count, 2, 2}, test::pattern(labels.size() * 4)));
  test::write_gzip(folder / "train-labels-idx1-ubyte.gz", test::idx_bytes({count}, labels));
}

const auto kOneSet = [](const auto& folder) { write_gzipped_set(folder, {"\0\1\2", 3}); };
const auto kOtherSet = [](const auto& folder) { write_gzipped_set(folder, {"\0\2\1", 3}); };
const auto kNothing = [](const auto&) {};

TEST_F(Open, EachNodeDecodesItsOwnCopy) {
  pretend_two_nodes(kOneSet, kOneSet);
  DataSets sets = open(section_of(DataFormat::idx, "."));
  EXPECT_EQ(sets.train.size(), 3);
  EXPECT_EQ(sets.train.label(2), 2);
  sets.close();
}

TEST_F(Open, OtherDataOnAnotherNodeIsOneErrorOnAllRanks) {
  if (world_.size() == 1) GTEST_SKIP() << "needs two ranks";
  pretend_two_nodes(kOneSet, kOtherSet);
  expect_error_everywhere(section_of(DataFormat::idx, "."), ExitCode::data, {"rank 1 holds other data"});
}

TEST_F(Open, NoDataOnAnotherNodeIsOneErrorOnAllRanks) {
  if (world_.size() == 1) GTEST_SKIP() << "needs two ranks";
  pretend_two_nodes(kOneSet, kNothing);
  expect_error_everywhere(section_of(DataFormat::idx, "."), ExitCode::data, {"no training set found"});
}

TEST_F(Open, ATestSetOnOneNodeOnlyIsOneErrorOnAllRanks) {
  if (world_.size() == 1) GTEST_SKIP() << "needs two ranks";
  pretend_two_nodes(kOneSet, [](const auto& folder) {
    kOneSet(folder);
    test::write_idx_set(folder, "t10k", 3, 3);
  });
  expect_error_everywhere(section_of(DataFormat::idx, "."), ExitCode::data, {"rank 1 finds other files"});
}

TEST_F(Open, AGzippedCopyOfAPlainSetOnAnotherNodeIsOneErrorOnAllRanks) {
  if (world_.size() == 1) GTEST_SKIP() << "needs two ranks";
  pretend_two_nodes(kOneSet, [](const auto& folder) { test::write_idx_set(folder, "train", 3, 3); });
  expect_error_everywhere(section_of(DataFormat::idx, "."), ExitCode::data, {"rank 1 finds other files"});
}

}  // namespace
}  // namespace kolo::data
