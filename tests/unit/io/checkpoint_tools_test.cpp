// What other people's tools make of our files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fixtures.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

using kolo::test::TempDir;
using kolo::test::write_file;
using testing::HasSubstr;

bool have(const std::string& command) { return run_program(command).status == 0; }

std::string quoted(const std::filesystem::path& path) { return '\'' + path.string() + '\''; }

/// JSON that `script`, Python with h5py and the file's path in sys.argv[1], prints.
nlohmann::json ask_h5py(const std::filesystem::path& file, const std::string& script) {
  const TempDir dir;
  write_file(dir / "ask.py", "import h5py, json, sys\nf = h5py.File(sys.argv[1], 'r')\n" + script);
  const Outcome outcome = run_program("python3 " + quoted(dir / "ask.py") + ' ' + quoted(file));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return nlohmann::json::parse(outcome.output, nullptr, false);
}

TEST(CheckpointTools, H5dumpShowsConfigAndTensors) {
  if (!have("h5dump --version")) GTEST_SKIP() << "h5dump is not installed";
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  const Outcome outcome = run_program("h5dump " + quoted(dir / "a.h5"));
  EXPECT_EQ(outcome.status, 0);
  for (const char* expected : {"seed = 7", "1.5, -2, 3", "kolo checkpoint",
                               "DATASET \"layer1.0.conv1.weight\"", "\"/model/fc.bias\""})
    EXPECT_THAT(outcome.output, HasSubstr(expected));
}

TEST(CheckpointTools, H5lsListsEveryDataSet) {
  if (!have("h5ls --version")) GTEST_SKIP() << "h5ls is not installed";
  const TempDir dir;
  write_checkpoint(dir / "a.h5", sample_checkpoint());
  const Outcome outcome = run_program("h5ls -r " + quoted(dir / "a.h5"));
  EXPECT_EQ(outcome.status, 0);
  for (const char* expected :
       {"/model/layer1.0.conv1.weight Dataset {2, 1, 3}", "/buffers/bn.num_batches_tracked Dataset {SCALAR}",
        "/optimizer/exp_avg/fc.bias Dataset {2}", "/metrics/train/top1", "/progress/epoch", "/format"})
    EXPECT_THAT(outcome.output, HasSubstr(expected));
}

TEST(CheckpointTools, H5pyReadsWhatWasWritten) {
  if (!have("python3 -c 'import h5py'")) GTEST_SKIP() << "python3 has no h5py";
  const TempDir dir;
  const Checkpoint checkpoint = sample_checkpoint();
  write_checkpoint(dir / "a.h5", checkpoint);
  const nlohmann::json seen = ask_h5py(dir / "a.h5", R"(
print(json.dumps({
    'userblock': f.userblock_size, 'version': int(f['format'].attrs['version']),
    'config': f['config'].asstr()[()], 'dtype': str(f['model/layer1.0.conv1.weight'].dtype),
    'weight': f['model/layer1.0.conv1.weight'][()].tolist(), 'scalar': int(f['buffers/bn.num_batches_tracked'][()]),
    'epoch': int(f['progress/epoch'][()]), 'strategy': f['progress/strategy'].asstr()[()],
    'top1': f['metrics/train/top1'][()].tolist(),
    'names': [n.decode() for n in f['integrity/names'][()]], 'digests': str(f['integrity/xxh3'].dtype)})))");
  EXPECT_EQ(seen["userblock"], 512);
  EXPECT_EQ(seen["version"], 1);
  EXPECT_EQ(seen["config"], checkpoint.config);
  EXPECT_EQ(seen["dtype"], "float32");
  EXPECT_EQ(seen["weight"], nlohmann::json::parse("[[[1.5, -2, 3]], [[4, 5, 6.25]]]"));
  EXPECT_EQ(seen["scalar"], -9);
  EXPECT_EQ(seen["epoch"], 3);
  EXPECT_EQ(seen["strategy"], "allreduce");
  EXPECT_EQ(seen["top1"], (std::vector<double>{0.25, 1.0 / 3}));
  EXPECT_EQ(seen["names"][1], "/model/layer1.0.conv1.weight");
  EXPECT_EQ(seen["digests"], "uint64");
}

TEST(MetricTools, H5pyReadsTheColumnsInOrder) {
  if (!have("python3 -c 'import h5py'")) GTEST_SKIP() << "python3 has no h5py";
  const TempDir dir;
  write_metrics_hdf5(dir / "m.h5", {{"lr", "epoch"}, {{0.1, 1}, {1.0 / 3, 2}}});
  const nlohmann::json seen = ask_h5py(dir / "m.h5", R"(
names = [n.decode() if isinstance(n, bytes) else n for n in f.attrs['columns']]
print(json.dumps([[n, f[n][()].tolist()] for n in names])))");
  EXPECT_EQ(seen, nlohmann::json::parse(R"([["lr", [0.1, 0.3333333333333333]], ["epoch", [1, 2]]])"));
}

}  // namespace
}  // namespace kolo::io::test
