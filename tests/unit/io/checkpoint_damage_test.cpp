#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <thread>

#include "fixtures.hpp"
#include "kolo/io/hdf5_image.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/io/run_directory.hpp"
#include "kolo/io/sealed_file.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

using kolo::test::read_file;
using kolo::test::TempDir;
using kolo::test::write_file;
using testing::AllOf;
using testing::HasSubstr;

std::string sample_bytes() {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  return read_file(dir / "a.h5");
}

/// The error of reading a file of these bytes.
std::string reading(const std::string& bytes) {
  const TempDir dir;
  write_file(dir / "a.h5", bytes);
  const std::string message = message_of<CheckpointError>([&] { read_checkpoint(dir / "a.h5"); });
  EXPECT_THAT(message, HasSubstr("a.h5"));
  return message;
}

/// A run directory whose newest checkpoint (step 2) can be spoilt.
class SpoiltRun : public testing::Test {
 protected:
  SpoiltRun() {
    RunDirectory run(dir_ / "run", config::Resume::off);
    for (const std::int64_t step : {1, 2}) {
      checkpoint_.progress["step"] = step;
      write_checkpoint(run.checkpoint_path(step), checkpoint_);
    }
    newest_ = run.checkpoint_path(2);
    bytes_ = read_file(newest_);
  }

  /// The next start passes over the spoilt file, names it, and goes on from the one before.
  void expect_fall_back(const std::string& content, const std::string& what) {
    expect_fall_back_from([&] { write_file(newest_, content); }, what);
  }
  void expect_fall_back_from(const std::function<void()>& spoil, const std::string& what) {
    spoil();
    RunDirectory run(dir_ / "run", config::Resume::automatic);
    const NewestCheckpoint found = run.read_newest();
    EXPECT_EQ(found.path, run.checkpoint_path(1)) << what;
    EXPECT_EQ(found.checkpoint.progress.at("step"), ProgressValue(std::int64_t{1})) << what;
    ASSERT_EQ(found.damaged.size(), 1U) << what;
    EXPECT_THAT(found.damaged[0], HasSubstr(newest_.string())) << what;
  }

  const TempDir dir_;
  Checkpoint checkpoint_ = sample_checkpoint();
  std::filesystem::path newest_;
  std::string bytes_;
  std::mt19937 generator_{1};
};

TEST_F(SpoiltRun, EveryFlippedBitIsNoticed) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < 64; ++i)
    positions.push_back(i);
  for (std::size_t i = 0; i < 36; ++i)
    positions.push_back(64 + generator_() % (kUserBlockBytes - 64));
  for (std::size_t i = 0; i < 900; ++i)
    positions.push_back(kUserBlockBytes + generator_() % (bytes_.size() - kUserBlockBytes));
  for (const std::size_t position : positions) {
    std::string damaged = bytes_;
    damaged[position] = static_cast<char>(damaged[position] ^ (1 << generator_() % 8));
    expect_fall_back(damaged, "flipped a bit of byte " + std::to_string(position));
  }
}

TEST_F(SpoiltRun, EveryTruncationIsNoticed) {
  std::vector<std::size_t> sizes = {0, 1, 7, 8, 31, 511, 512, 513, bytes_.size() - 1};
  for (std::size_t i = 1; i <= 200; ++i)
    sizes.push_back(bytes_.size() * i / 201);
  for (const std::size_t size : sizes)
    expect_fall_back(bytes_.substr(0, size), "cut after " + std::to_string(size) + " bytes");
}

// More than any memory; the file itself takes no room.
TEST_F(SpoiltRun, AnAbsurdSizeIsNoticedBeforeMemoryIsTaken) {
  expect_fall_back_from([&] { std::filesystem::resize_file(newest_, std::uintmax_t{1} << 43); },
                        "a sparse file");
}

TEST(CheckpointDamage, AddedBytesAreNoticed) {
  EXPECT_THAT(reading(sample_bytes() + '\0'), HasSubstr("damaged"));
}

TEST(CheckpointDamage, AWriterKilledAtAnyTimeLeavesAWholeFile) {
  const TempDir dir;
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.model.push_back(tensor<double>("large", {1 << 17}, std::vector<double>(1 << 17, 0.5)));
  write_checkpoint(dir / "a.h5", checkpoint);
  for (int kills = 1; kills <= 20; ++kills) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      while (true)
        write_checkpoint(dir / "a.h5", checkpoint);
    std::this_thread::sleep_for(std::chrono::microseconds(700) * kills);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(read_checkpoint(dir / "a.h5"), checkpoint);
  }
}

TEST(CheckpointDamage, AnyOtherFileIsNotACheckpoint) {
  EXPECT_THAT(reading(std::string(4096, 'x')), HasSubstr("is not a file of kolo's"));
  EXPECT_THAT(reading(sample_bytes().substr(kUserBlockBytes)), HasSubstr("is not a file of kolo's"));
}

TEST(CheckpointDamage, ANewerUserBlockIsNotCalledDamaged) {
  std::string bytes = sample_bytes();
  bytes[8] = 2;
  EXPECT_THAT(reading(bytes), AllOf(HasSubstr("version 2"), HasSubstr("reads version 1")));
}

TEST(CheckpointDamage, AMissingFileAndADirectoryAreNamed) {
  const TempDir dir;
  EXPECT_THAT(message_of<CheckpointError>([&] { read_checkpoint(dir / "none.h5"); }),
              AllOf(HasSubstr("none.h5"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<CheckpointError>([&] { read_checkpoint(dir.path()); }), HasSubstr("Is a directory"));
}

TEST(CheckpointDamage, ASealedFileOfForeignContentIsRefused) {
  const TempDir dir;
  const std::string noise(3000, 'n');
  write_sealed(dir / "a.h5", std::as_bytes(std::span(noise)));
  EXPECT_THAT(message_of<CheckpointError>([&] { read_checkpoint(dir / "a.h5"); }),
              AllOf(HasSubstr("a.h5"), HasSubstr("HDF5")));
}

/// The error of reading a checkpoint whose content was changed by `edit` and sealed again.
std::string reading_edited(const std::function<void(hid_t)>& edit) {
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  {
    const Hdf5Lock lock;
    Hdf5File file(H5Fopen((dir / "a.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "cannot open for editing");
    edit(file.id());
    file.close();
  }
  const std::string bytes = read_file(dir / "a.h5");
  write_sealed(dir / "a.h5", std::as_bytes(std::span(bytes)).subspan(kUserBlockBytes));
  const std::string message = message_of<CheckpointError>([&] { read_checkpoint(dir / "a.h5"); });
  EXPECT_THAT(message, HasSubstr("a.h5"));
  return message;
}

void remove(hid_t file, const char* path) { check_hdf5(H5Ldelete(file, path, H5P_DEFAULT), path); }

TEST(CheckpointContent, AnyMissingPartIsNamed) {
  for (const char* path : {"/format", "/integrity", "/integrity/names", "/integrity/xxh3", "/optimizer",
                           "/config", "/model/fc.bias", "/buffers/bn.running_mean",
                           "/optimizer/exp_avg/fc.bias", "/progress/epoch", "/metrics/train/loss"}) {
    const std::string name = std::filesystem::path(path).filename().string();
    EXPECT_THAT(reading_edited([&](hid_t file) { remove(file, path); }),
                AllOf(HasSubstr(name), HasSubstr("missing")))
        << path;
  }
}

TEST(CheckpointContent, AChangedTensorIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                const Hdf5Dataset dataset = open_dataset(file, "/model/fc.bias");
                const std::vector<float> values = {0.5F, 0.5F};
                check_hdf5(
                    H5Dwrite(dataset.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                    "");
              }),
              AllOf(HasSubstr("/model/fc.bias"), HasSubstr("checksum")));
}

TEST(CheckpointContent, ATextInPlaceOfATensorIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                remove(file, "/model/fc.bias");
                write_text(open_group(file, "model").id(), "fc.bias", "text");
              }),
              AllOf(HasSubstr("/model/fc.bias"), HasSubstr("unexpected type")));
}

TEST(CheckpointContent, ATensorInPlaceOfTheConfigIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                remove(file, "/config");
                write_array(file, "config", DType::u8, {}, std::vector<std::byte>(1));
              }),
              AllOf(HasSubstr("/config"), HasSubstr("not fixed-length text")));
}

TEST(CheckpointContent, ProgressOfAnotherTypeIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                remove(file, "/progress/epoch");
                write_array(open_group(file, "progress").id(), "epoch", DType::u8, {},
                            std::vector<std::byte>(1));
              }),
              HasSubstr("/progress/epoch"));
}

TEST(CheckpointContent, AMetricOfAnotherLengthIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                const Hdf5Group group = open_group(file, "metrics/train");
                remove(group.id(), "loss");
                write_array(group.id(), "loss", DType::f64, std::vector<std::int64_t>{1},
                            std::vector<std::byte>(8));
              }),
              HasSubstr("/metrics/train/loss"));
}

TEST(CheckpointContent, AnUnknownVersionOrFormatIsNoticed) {
  EXPECT_THAT(reading_edited([](hid_t file) {
                const Hdf5Group group = open_group(file, "format");
                H5Adelete(group.id(), "version");
                write_attribute(group.id(), "version", std::int64_t{2});
              }),
              HasSubstr("version is 2; this kolo reads version 1"));
  EXPECT_THAT(reading_edited([](hid_t file) {
                const Hdf5Group group = open_group(file, "format");
                H5Adelete(group.id(), "name");
                write_attribute(group.id(), "name", std::string_view("other"));
              }),
              HasSubstr("its format is 'other'"));
}

}  // namespace
}  // namespace kolo::io::test
