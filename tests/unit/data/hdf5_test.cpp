#include <hdf5.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kolo/data/hdf5_set.hpp"
#include "kolo/io/hdf5_mutex.hpp"
#include "unit/data/set_files.hpp"

namespace kolo::data {
namespace {

using test::expect_data_error;
using Dims = std::vector<hsize_t>;

// Writes one file with the C API; every member function is one call of the library on it.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& path)
      : lock_(io::hdf5_mutex()), file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
    for (const char* group : {"/train", "/test"}) {
      H5Gclose(H5Gcreate2(file_, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
  }
  ~Writer() { H5Fclose(file_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void remove(const char* name) { H5Ldelete(file_, name, H5P_DEFAULT); }

  template <class T>
  void put(const char* name, const Dims& dims, hid_t file_type, hid_t memory_type,
           const std::vector<T>& values) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t set = H5Dcreate2(file_, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (!values.empty()) H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Sclose(space);
  }

  void labels(const char* name, const std::vector<std::int64_t>& values) {
    put(name, {values.size()}, H5T_STD_I32LE, H5T_NATIVE_INT64, values);
  }

  void bytes(const char* name, const Dims& dims, std::size_t count) {
    const std::string text = test::pattern(count);
    put(name, dims, H5T_STD_U8LE, H5T_NATIVE_UINT8, std::vector<char>(text.begin(), text.end()));
  }

  void variable_names(const std::vector<const char*>& names) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    put("/class_names", {names.size()}, type, type, names);
    H5Tclose(type);
  }

  void fixed_names_attribute(const std::string& text, std::size_t length, H5T_str_t padding) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, length);
    H5Tset_strpad(type, padding);
    const hsize_t count = text.size() / length;
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t attribute = H5Acreate2(file_, "class_names", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text.data());
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }

 private:
  std::scoped_lock<std::mutex> lock_;
  hid_t file_;
};

class Hdf5 : public testing::Test {
 protected:
  using Fill = std::function<void(Writer&)>;
  void write(const Fill& fill) const {
    Writer writer(path_);
    fill(writer);
  }
  Dataset read(Part part = Part::train) const { return read_source(*open_hdf5(path_, part)); }
  void expect_error(const Fill& fill, std::initializer_list<std::string> words) const {
    write(fill);
    expect_data_error([&] { read(); }, words);
  }

  test::TempDir dir_;
  const std::filesystem::path path_ = dir_ / "set.h5";
};

int byte_at(const Dataset& set, std::int64_t i, std::int64_t p) {
  return std::to_integer<int>(set.image(i)[p]);
}
float float_at(const Dataset& set, std::int64_t i, std::int64_t p) {
  return reinterpret_cast<const float*>(set.image(i))[p];
}

TEST_F(Hdf5, ThreeAxesAreOneChannel) {
  write([](Writer& w) {
    w.bytes("/train/images", {4, 5, 2}, 40);
    w.labels("/train/labels", {0, 3, 1, 2});
  });
  const Dataset set = read();
  ASSERT_EQ(set.size(), 4);
  EXPECT_EQ(set.shape(), (ImageShape{1, 5, 2}));
  EXPECT_EQ(set.num_classes(), 4);
  EXPECT_EQ(set.label(1), 3);
  EXPECT_EQ(byte_at(set, 3, 9), (7 * 39 + 3) % 256);
}

TEST_F(Hdf5, ChannelsFirstIsPreferredWhereBothAxesCouldBeChannels) {
  write([](Writer& w) {
    w.bytes("/train/images", {2, 3, 5, 4}, 120);
    w.labels("/train/labels", {0, 1});
  });
  EXPECT_EQ(read().shape(), (ImageShape{3, 5, 4}));
  EXPECT_EQ(byte_at(read(), 1, 7), (7 * 67 + 3) % 256);
}

TEST_F(Hdf5, ChannelsLastAreMovedToTheFront) {
  write([](Writer& w) {
    w.bytes("/train/images", {2, 5, 2, 3}, 60);
    w.labels("/train/labels", {0, 1});
  });
  const Dataset set = read();
  ASSERT_EQ(set.shape(), (ImageShape{3, 5, 2}));
  for (int i = 0; i < 2; ++i) {
    for (int c = 0; c < 3; ++c) {
      for (int at = 0; at < 10; ++at)
        EXPECT_EQ(byte_at(set, i, c * 10 + at), (7 * (i * 30 + at * 3 + c) + 3) % 256);
    }
  }
}

TEST_F(Hdf5, DoublesBecomeFloats) {
  write([](Writer& w) {
    w.put<double>("/train/images", {2, 2, 1, 3}, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE,
                  {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1, -2});
    w.labels("/train/labels", {0, 1});
  });
  const Dataset set = read();
  EXPECT_EQ(set.pixel_type(), PixelType::f32);
  ASSERT_EQ(set.shape(), (ImageShape{3, 2, 1}));
  EXPECT_EQ(float_at(set, 0, 1), 0.3F);
  EXPECT_EQ(float_at(set, 1, 5), -2.0F);
}

TEST_F(Hdf5, MoreThanOnePieceIsReadWhole) {
  constexpr hsize_t kSide = 2900;  // three images of 8.4 MB
  write([](Writer& w) {
    w.bytes("/train/images", {3, kSide, kSide}, 3 * kSide * kSide);
    w.labels("/train/labels", {0, 1, 0});
  });
  const Dataset set = read();
  for (const std::int64_t p : {std::int64_t{0}, std::int64_t{kSide * kSide - 1}}) {
    const auto at = static_cast<std::int64_t>(2 * kSide * kSide) + p;
    EXPECT_EQ(byte_at(set, 2, p), (7 * at + 3) % 256);
  }
}

void two_good(Writer& w) {
  w.bytes("/train/images", {2, 5, 2}, 20);
  w.labels("/train/labels", {0, 1});
}

TEST_F(Hdf5, ClassNamesOfVariableLengthSetTheClasses) {
  write([](Writer& w) {
    two_good(w);
    w.variable_names({"cat", "dog", "a bird"});
  });
  ASSERT_EQ(read().num_classes(), 3);
  EXPECT_EQ(read().class_names()[2], "a bird");
}

TEST_F(Hdf5, ClassNamesOfFixedLengthInAnAttributeLoseTheirPadding) {
  write([](Writer& w) {
    two_good(w);
    w.fixed_names_attribute("cat dog bird", 4, H5T_STR_SPACEPAD);
  });
  EXPECT_THAT(read().class_names(), testing::ElementsAre("cat", "dog", "bird"));
}

TEST_F(Hdf5, LabelsBeyondTheClassNamesAreAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 5, 2}, 20);
        w.labels("/train/labels", {0, 3});
        w.variable_names({"cat", "dog"});
      },
      {"label 3 of sample 1", "2 classes"});
}

TEST_F(Hdf5, ClassNamesThatAreNumbersAreAnError) {
  expect_error(
      [](Writer& w) {
        two_good(w);
        w.labels("/class_names", {1, 2});
      },
      {"class_names", "strings"});
}

TEST_F(Hdf5, AMissingTestGroupIsNothing) {
  write([](Writer& w) { w.remove("/test"); });
  EXPECT_FALSE(open_hdf5(path_, Part::test));
}

TEST_F(Hdf5, AMissingDataSetIsAnErrorThatNamesIt) {
  expect_error([](Writer& w) { w.labels("/train/labels", {0}); },
               {"set.h5:/train/images", "no such data set"});
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {1, 2, 2}, 4);
      },
      {":/train/labels", "no such data set"});
}

TEST_F(Hdf5, AWrongRankIsAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 10}, 20);
        w.labels("/train/labels", {0, 1});
      },
      {"/train/images", "shape (2, 10)", "(N, C, H, W)"});
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 5, 2}, 20);
        w.put<std::int64_t>("/train/labels", {2, 1}, H5T_STD_I64LE, H5T_NATIVE_INT64, {0, 1});
      },
      {"/train/labels", "shape (2, 1)", "one dimension"});
}

TEST_F(Hdf5, NoAxisOfChannelsIsAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 5, 2, 2}, 40);
        w.labels("/train/labels", {0, 1});
      },
      {"shape (2, 5, 2, 2)", "1, 3 or 4 channels"});
}

TEST_F(Hdf5, OtherPixelTypesAreErrors) {
  for (const hid_t type : {H5T_STD_I8LE, H5T_STD_U16LE, H5T_STD_I64BE}) {
    expect_error(
        [type](Writer& w) {
          w.put<std::int64_t>("/train/images", {1, 1, 2}, type, H5T_NATIVE_INT64, {1, 2});
          w.labels("/train/labels", {0});
        },
        {"/train/images", "integers", "expected uint8, float32 or float64"});
  }
}

TEST_F(Hdf5, LabelsThatAreNotIntegersAreAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {1, 1, 2}, 2);
        w.put<float>("/train/labels", {1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1});
      },
      {"/train/labels", "integers"});
}

TEST_F(Hdf5, NegativeLabelsAreAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 1, 2}, 4);
        w.labels("/train/labels", {0, -7});
      },
      {"label -7 of sample 1"});
}

TEST_F(Hdf5, DifferentCountsAreAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {2, 5, 2}, 20);
        w.labels("/train/labels", {0, 1, 0});
      },
      {"2 images", "3 labels"});
}

TEST_F(Hdf5, DimensionsOfZeroAreAnError) {
  expect_error(
      [](Writer& w) {
        w.bytes("/train/images", {0, 5, 2}, 0);
        w.labels("/train/labels", {});
      },
      {"shape (0, 5, 2)", "size 0"});
}

TEST_F(Hdf5, NonFinitePixelsAreAnError) {
  expect_error(
      [](Writer& w) {
        w.put<float>("/train/images", {2, 1, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
                     {0, 1, 2, std::numeric_limits<float>::quiet_NaN()});
        w.labels("/train/labels", {0, 1});
      },
      {"image 1", "nan"});
}

TEST_F(Hdf5, AFileThatIsNotHdf5IsAnError) {
  test::write_file(path_, "just text");
  expect_data_error([&] { read(); }, {"set.h5", "not an HDF5 file"});
  expect_data_error([&] { open_hdf5(dir_.path(), Part::train); }, {"folder"});
  expect_data_error([&] { open_hdf5(dir_ / "absent.h5", Part::train); }, {"absent.h5", "no such file"});
}

TEST_F(Hdf5, ATruncatedFileIsAnError) {
  write(two_good);
  const std::string bytes = test::read_file(path_);
  test::write_file(path_, bytes.substr(0, bytes.size() / 2));
  expect_data_error([&] { read(); }, {"set.h5", "truncated"});
}

}  // namespace
}  // namespace kolo::data
