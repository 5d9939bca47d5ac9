#include "kolo/io/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "fixtures.hpp"
#include "kolo/io/hdf5_values.hpp"
#include "kolo/util/strings.hpp"
#include "support/temp_dir.hpp"

namespace kolo::io::test {
namespace {

namespace fs = std::filesystem;
using kolo::test::read_file;
using kolo::test::TempDir;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines = util::split(read_file(path), '\n');
  EXPECT_EQ(lines.back(), "") << path << " does not end in a newline";
  lines.pop_back();
  return lines;
}

MetricTable parse_csv(const fs::path& path) {
  const std::vector<std::string> lines = lines_of(path);
  MetricTable table{util::split(lines.at(0), ','), {}};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<double>& row = table.rows.emplace_back();
    for (const std::string& field : util::split(lines[i], ','))
      row.push_back(field.empty() ? kNaN : std::strtod(field.c_str(), nullptr));
  }
  return table;
}

MetricTable parse_json_lines(const fs::path& path) {
  MetricTable table;
  for (const std::string& line : lines_of(path)) {
    const auto object = nlohmann::ordered_json::parse(line);
    table.columns.clear();
    std::vector<double>& row = table.rows.emplace_back();
    for (const auto& [name, value] : object.items()) {
      table.columns.push_back(name);
      row.push_back(value.is_null() ? kNaN : value.get<double>());
    }
  }
  return table;
}

MetricTable parse_hdf5(const fs::path& path) {
  const Hdf5Lock lock;
  const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "cannot open metrics.h5");
  MetricTable table{read_text_attribute(file.id(), "columns"), {}};
  for (const std::string& name : table.columns) {
    const Hdf5Array array = read_array(open_dataset(file.id(), name), name);
    EXPECT_EQ(array.type, DType::f64);
    EXPECT_EQ(array.shape.size(), 1U);
    table.rows.resize(array.data.size() / sizeof(double));
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      double value = 0;
      std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
      table.rows[i].push_back(value);
    }
  }
  return table;
}

/// Equality in which a missing value equals a missing value.
testing::AssertionResult same(const MetricTable& a, const MetricTable& b) {
  if (a.columns != b.columns) return testing::AssertionFailure() << "other columns";
  if (a.rows.size() != b.rows.size())
    return testing::AssertionFailure() << a.rows.size() << " rows against " << b.rows.size();
  for (std::size_t i = 0; i < a.rows.size(); ++i)
    for (std::size_t j = 0; j < a.columns.size(); ++j)
      if (a.rows[i].at(j) != b.rows[i].at(j) && !(std::isnan(a.rows[i][j]) && std::isnan(b.rows[i][j])))
        return testing::AssertionFailure()
               << "row " << i << ", " << a.columns[j] << ": " << a.rows[i][j] << " against " << b.rows[i][j];
  return testing::AssertionSuccess();
}

void expect_files_hold(const TempDir& dir, const MetricTable& table) {
  EXPECT_TRUE(same(parse_csv(dir / "metrics.csv"), table));
  EXPECT_TRUE(same(parse_json_lines(dir / "metrics.jsonl"), table));
  EXPECT_TRUE(same(parse_hdf5(dir / "metrics.h5"), table));
}

TEST(MetricFiles, HoldExactlyTheAppendedRows) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"epoch", "train_loss", "val_loss"});
  files.rewrite({});
  MetricTable expected{{"epoch", "train_loss", "val_loss"}, {}};
  std::mt19937_64 generator(3);
  for (int epoch = 1; epoch <= 20; ++epoch) {
    const double loss = std::ldexp(static_cast<double>(generator() >> 11), -40 - epoch * 3);
    expected.rows.push_back({static_cast<double>(epoch), loss, epoch % 3 == 0 ? loss / 7 : kNaN});
    files.append(expected.rows.back());
  }
  expect_files_hold(dir, expected);
  EXPECT_TRUE(same(files.table(), expected));
}

TEST(MetricFiles, ARewriteAfterResumeRepeatsNoRow) {
  const TempDir dir;
  const std::vector<std::string> columns = {"epoch", "lr"};
  MetricFiles first(dir.path(), columns);
  for (const double epoch : {1.0, 2.0, 3.0})
    first.append(std::vector<double>{epoch, 0.5});
  MetricFiles second(dir.path(), columns);
  second.rewrite({columns, {{1, 0.5}, {2, 0.5}}});
  second.append(std::vector<double>{3, 0.25});
  expect_files_hold(dir, {columns, {{1, 0.5}, {2, 0.5}, {3, 0.25}}});
}

TEST(MetricFiles, AFreshStartEmptiesThem) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"epoch"});
  files.append(std::vector<double>{1});
  files.rewrite({});
  EXPECT_EQ(read_file(dir / "metrics.csv"), "epoch\n");
  EXPECT_EQ(read_file(dir / "metrics.jsonl"), "");
  EXPECT_TRUE(same(parse_hdf5(dir / "metrics.h5"), {{"epoch"}, {}}));
}

TEST(MetricFiles, ColumnsAreMatchedByNameOnResume) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"epoch", "new"});
  files.rewrite({{"old", "epoch"}, {{7, 1}}});
  files.append(std::vector<double>{2, 8});
  expect_files_hold(dir, {{"epoch", "new", "old"}, {{1, kNaN, 7}, {2, 8, kNaN}}});
}

TEST(MetricFiles, ALostFileIsMadeAgainWithAllRows) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"epoch"});
  files.append(std::vector<double>{1});
  fs::remove(dir / "metrics.csv");
  files.append(std::vector<double>{2});
  expect_files_hold(dir, {{"epoch"}, {{1}, {2}}});
}

TEST(MetricFiles, AFailedAppendLeavesWholeLines) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"epoch", "train_loss"});
  files.append(std::vector<double>{1, 0.5});
  const std::string before = read_file(dir / "metrics.csv");
  {
    const FileSizeLimit limit(before.size() + 3);
    EXPECT_THAT(message_of<CheckpointError>([&] {
                  files.append(std::vector<double>{2, 0.125});
                }),
                HasSubstr("metrics.csv"));
  }
  EXPECT_EQ(read_file(dir / "metrics.csv"), before);
}

TEST(MetricFiles, NumbersAreIntegersOrReadBackExactly) {
  EXPECT_EQ(format_number(3), "3");
  EXPECT_EQ(format_number(-12), "-12");
  EXPECT_EQ(format_number(2122186), "2122186");
  EXPECT_EQ(format_number(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(format_number(0.1), "0.1");
  std::mt19937_64 generator(5);
  for (int i = 0; i < 2000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(generator()), static_cast<int>(generator() % 600) - 300);
    EXPECT_EQ(std::strtod(format_number(value).c_str(), nullptr), value);
  }
}

TEST(MetricFiles, JsonHasNoNonFiniteNumbers) {
  EXPECT_EQ(to_json_lines({{"a", "b", "c"}, {{kNaN, -INFINITY, 0.5}}}),
            "{\"a\": null, \"b\": null, \"c\": 0.5}\n");
}

TEST(MetricFiles, CsvLeavesMissingFieldsEmpty) {
  EXPECT_EQ(to_csv({{"a", "b", "c"}, {{kNaN, 2, kNaN}}}), "a,b,c\n,2,\n");
}

TEST(MetricFiles, RefusesNamesThatWouldNeedQuoting) {
  const TempDir dir;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a,b"}, {""}, {"a/b"}, {"a\"b"}, {"a", "a"}, {"."}, {"a b"}})
    EXPECT_THROW(MetricFiles(dir.path(), names), Error) << util::join(names, "|");
}

TEST(MetricFiles, RefusesARowOfAnotherLength) {
  const TempDir dir;
  MetricFiles files(dir.path(), {"a", "b"});
  EXPECT_THAT(message_of<Error>([&] { files.append(std::vector<double>{1}); }),
              HasSubstr("1 values; expected 2"));
}

TEST(MetricFiles, NamesADirectoryThatIsMissing) {
  const TempDir dir;
  MetricFiles files(dir / "none", {"a"});
  EXPECT_THAT(message_of<CheckpointError>([&] { files.rewrite({}); }), HasSubstr("none/metrics.csv"));
}

}  // namespace
}  // namespace kolo::io::test
