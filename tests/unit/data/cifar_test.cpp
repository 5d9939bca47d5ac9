#include "kolo/data/cifar.hpp"

#include <string>

#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

using test::cifar_bytes;
using test::expect_data_error;
using test::write_file;

Dataset read(const std::filesystem::path& path, CifarKind kind, Part part = Part::train) {
  return Dataset(open_cifar(*find_cifar(path, kind, part), kind));
}

void write_cifar10(const std::filesystem::path& folder) {
  for (std::size_t i = 1; i <= 5; ++i) {
    write_file(folder / ("data_batch_" + std::to_string(i) + ".bin"), cifar_bytes(10 + i, 1, 10));
  }
  write_file(folder / "test_batch.bin", cifar_bytes(4, 1, 10));
}

TEST(Cifar, FiveFilesAreOneSetInOrder) {
  const test::TempDir dir;
  write_cifar10(dir.path());
  const Dataset set = read(dir.path(), CifarKind::cifar10);
  ASSERT_EQ(set.size(), 11 + 12 + 13 + 14 + 15);
  EXPECT_EQ(set.shape(), (ImageShape{3, 32, 32}));
  EXPECT_EQ(set.num_classes(), 10);
  std::int64_t i = 0;
  for (std::int64_t file = 1; file <= 5; ++file) {
    for (std::int64_t record = 0; record < 10 + file; ++record, ++i) {
      EXPECT_EQ(set.label(i), record % 10);
      EXPECT_EQ(std::to_integer<std::int64_t>(set.image(i)[0]), record);
      EXPECT_EQ(std::to_integer<std::int64_t>(set.image(i)[3071]), (7 * 3071 + 3) % 256);
    }
  }
}

TEST(Cifar, TheTestSetIsFoundBesideIt) {
  const test::TempDir dir;
  write_cifar10(dir.path());
  EXPECT_EQ(read(dir.path(), CifarKind::cifar10, Part::test).size(), 4);
}

TEST(Cifar, TheFolderTheArchiveUnpacksToIsEntered) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "cifar-10-batches-bin");
  write_cifar10(dir / "cifar-10-batches-bin");
  EXPECT_EQ(read(dir.path(), CifarKind::cifar10).size(), 65);
}

TEST(Cifar, Cifar100UsesTheFineLabel) {
  const test::TempDir dir;
  write_file(dir / "train.bin", cifar_bytes(120, 2, 100));
  const Dataset set = read(dir.path(), CifarKind::cifar100);
  ASSERT_EQ(set.size(), 120);
  EXPECT_EQ(set.num_classes(), 100);
  EXPECT_EQ(set.label(119), 19);
  EXPECT_EQ(std::to_integer<int>(set.image(119)[0]), 119);
  EXPECT_FALSE(find_cifar(dir.path(), CifarKind::cifar100, Part::test));
}

TEST(Cifar, ClassNamesAreTheLinesOfTheMetaFile) {
  const test::TempDir dir;
  write_file(dir / "one.bin", cifar_bytes(3, 1, 10));
  write_file(dir / "batches.meta.txt",
             "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\r\n\n");
  const Dataset set = read(dir / "one.bin", CifarKind::cifar10);
  ASSERT_EQ(set.class_names().size(), 10U);
  EXPECT_EQ(set.class_names()[9], "truck");
}

TEST(Cifar, AWrongNumberOfClassNamesIsAnError) {
  const test::TempDir dir;
  write_file(dir / "one.bin", cifar_bytes(3, 1, 10));
  write_file(dir / "batches.meta.txt", "cat\ndog\n");
  expect_data_error([&] { read(dir / "one.bin", CifarKind::cifar10); },
                    {"batches.meta.txt", "2 class names found, 10 expected"});
}

TEST(Cifar, AMissingFileOfFiveIsNamed) {
  const test::TempDir dir;
  write_cifar10(dir.path());
  std::filesystem::remove(dir / "data_batch_3.bin");
  expect_data_error([&] { read(dir.path(), CifarKind::cifar10); }, {"1 of 5", "data_batch_3.bin"});
}

TEST(Cifar, AMissingFolderNamesWhatWasLookedFor) {
  expect_data_error([] { find_cifar("/nonexistent/cifar", CifarKind::cifar10, Part::train); },
                    {"/nonexistent/cifar", "data_batch_1.bin", "data_batch_5.bin"});
}

TEST(Cifar, ASizeThatIsNotAMultipleOfTheRecordIsAnError) {
  const test::TempDir dir;
  write_file(dir / "train.bin", cifar_bytes(3, 2, 100).substr(0, 9221));
  expect_data_error([&] { read(dir.path(), CifarKind::cifar100); }, {"train.bin", "9221 bytes", "3074"});
}

TEST(Cifar, AnEmptyFileIsAnError) {
  const test::TempDir dir;
  write_file(dir / "train.bin", "");
  expect_data_error([&] { read(dir.path(), CifarKind::cifar100); }, {"train.bin", "empty"});
}

TEST(Cifar, ALabelOutOfRangeNamesRecordValueAndClasses) {
  const test::TempDir dir;
  write_file(dir / "one.bin", cifar_bytes(12, 1, 11));
  expect_data_error([&] { read(dir / "one.bin", CifarKind::cifar10); },
                    {"label 10 of record 10", "10 classes"});
}

}  // namespace
}  // namespace kolo::data
