#include "kolo/data/assemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <type_traits>

#include "kolo/data/philox.hpp"
#include "kolo/util/error.hpp"

namespace kolo::data {
namespace {

constexpr std::uint64_t kSeed = 11;

// 20 images of random pixels.
Dataset make_set(PixelType type, ImageShape shape) {
  struct Memory {
    std::vector<std::byte> bytes;
    std::vector<float> floats;
    std::vector<std::int64_t> labels = std::vector<std::int64_t>(20, 0);
  };
  auto memory = std::make_shared<Memory>();
  RandomSequence random(3, Stream::noise, 0);
  for (std::int64_t i = 0; i < 20 * shape.numel(); ++i) {
    const std::uint64_t value = random.below(256);
    memory->bytes.push_back(static_cast<std::byte>(value));
    memory->floats.push_back(static_cast<float>(value) / 100.0F - 1.0F);
  }
  DatasetContents contents;
  contents.shape = shape;
  contents.pixel_type = type;
  const auto* first =
      type == PixelType::u8 ? memory->bytes.data() : reinterpret_cast<std::byte*>(memory->floats.data());
  contents.pixels = {{first, 20, shape.numel() * bytes_per_pixel(type)}};
  contents.labels = memory->labels;
  contents.owner = memory;
  return Dataset(contents);
}

struct Choice {
  std::int64_t down = 0;
  std::int64_t right = 0;
  bool mirrored = false;
};

// torchvision's steps one after the other, in fp64: pad, crop, flip, scale, normalise.
std::vector<double> slow_image(const Dataset& set, std::int64_t sample, const Transform& transform,
                               const Choice& choice) {
  const auto [channels, height, width] = set.shape();
  const std::int64_t pad = transform.crop_padding;
  const std::int64_t padded_width = width + 2 * pad;
  std::vector<double> result;
  for (std::int64_t c = 0; c < channels; ++c) {
    std::vector<double> padded(static_cast<std::size_t>((height + 2 * pad) * padded_width), 0.0);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t at = (c * height + y) * width + x;
        const double value = set.pixel_type() == PixelType::u8
                                 ? std::to_integer<int>(set.image(sample)[at]) / 255.0
                                 : double{reinterpret_cast<const float*>(set.image(sample))[at]};
        padded[static_cast<std::size_t>((y + pad) * padded_width + x + pad)] = value;
      }
    }
    const auto k = static_cast<std::size_t>(c);
    const double mean = transform.mean.empty() ? 0 : transform.mean[transform.mean.size() == 1 ? 0 : k];
    const double std = transform.std.empty() ? 1 : transform.std[transform.std.size() == 1 ? 0 : k];
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t column = choice.mirrored ? width - 1 - x : x;
        const auto at = static_cast<std::size_t>((y + choice.down) * padded_width + column + choice.right);
        result.push_back((padded[at] - mean) / std);
      }
    }
  }
  return result;
}

template <class T>
std::vector<T> run(const Assembler& assembler, const std::vector<std::int64_t>& samples, std::int64_t epoch,
                   Augment augment) {
  std::vector<T> out(samples.size() * static_cast<std::size_t>(assembler.dataset().shape().numel()));
  assembler.assemble(samples, epoch, augment, out);
  return out;
}

template <class T>
bool near(const std::vector<T>& a, const std::vector<double>& b) {
  const double bound = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  return testing::Value(a, testing::Pointwise(testing::Truly([bound](const auto& pair) {
                                                const double x = std::get<0>(pair);
                                                const double y = std::get<1>(pair);
                                                return std::abs(x - y) <= bound * (1 + std::abs(y));
                                              }),
                                              b));
}

const Transform kColour{2, Flip::on, {0.5, 0.4, 0.3}, {0.2, 0.25, 0.3}};

// Every output is the slow image of some crop and flip, and all `outcomes` different ones come up.
template <class T>
void expect_some_choice(PixelType type, const ImageShape& shape, const Transform& transform,
                        std::int64_t outcomes) {
  const Dataset set = make_set(type, shape);
  const Assembler assembler(set, transform, kSeed);
  std::set<std::int64_t> seen;
  const std::int64_t places = 2 * transform.crop_padding + 1;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    for (std::int64_t sample = 0; sample < set.size(); ++sample) {
      const std::vector<T> image = run<T>(assembler, {sample}, epoch, Augment::on);
      bool found = false;
      for (std::int64_t k = 0; k < places * places * 2 && !found; ++k) {
        found = near(image, slow_image(set, sample, transform, {k / 2 / places, k / 2 % places, k % 2 == 1}));
        if (found) seen.insert(k);
      }
      ASSERT_TRUE(found) << "sample " << sample << ", epoch " << epoch;
    }
  }
  EXPECT_EQ(std::ssize(seen), outcomes);
}

TEST(Assemble, AugmentedBytesAreACropAndFlipOfThePaddedImage) {
  expect_some_choice<float>(PixelType::u8, {3, 5, 7}, kColour, 5 * 5 * 2);
}

TEST(Assemble, AugmentedFloatsInFp64AreACropAndFlipOfThePaddedImage) {
  expect_some_choice<double>(PixelType::f32, {3, 4, 5}, kColour, 5 * 5 * 2);
}

TEST(Assemble, PaddingWiderThanTheImageIsAllowed) {
  // Nine places show at least one pixel; all others look alike.
  expect_some_choice<float>(PixelType::u8, {1, 2, 2}, {3, Flip::off, {0.5}, {0.5}}, 10);
}

TEST(Assemble, WithoutAugmentationThePixelsStayInPlace) {
  for (const PixelType type : {PixelType::u8, PixelType::f32}) {
    const Dataset set = make_set(type, {3, 5, 7});
    const Assembler assembler(set, kColour, kSeed);
    for (std::int64_t sample = 0; sample < set.size(); ++sample) {
      const std::vector<double> expected = slow_image(set, sample, kColour, {2, 2, false});
      EXPECT_TRUE(near(run<float>(assembler, {sample}, 0, Augment::off), expected));
      EXPECT_TRUE(near(run<double>(assembler, {sample}, 0, Augment::off), expected));
    }
  }
}

TEST(Assemble, WithoutMeanAndStdBytesAreScaledToOne) {
  const Dataset set = make_set(PixelType::u8, {1, 5, 7});
  const std::vector<float> image = run<float>(Assembler(set, {}, kSeed), {4}, 0, Augment::off);
  for (std::size_t i = 0; i < image.size(); ++i) {
    EXPECT_EQ(image[i], static_cast<float>(std::to_integer<int>(set.image(4)[i]) / 255.0));
  }
}

TEST(Assemble, ASampleDoesNotDependOnItsBatch) {
  const Dataset set = make_set(PixelType::u8, {3, 5, 7});
  const Assembler assembler(set, kColour, kSeed);
  const std::vector<std::int64_t> samples = {7, 0, 19, 7};
  const std::vector<float> batch = run<float>(assembler, samples, 3, Augment::on);
  std::vector<float> singly;
  for (const std::int64_t sample : samples) {
    const std::vector<float> image = run<float>(assembler, {sample}, 3, Augment::on);
    singly.insert(singly.end(), image.begin(), image.end());
  }
  EXPECT_EQ(batch, singly);
}

TEST(Assemble, EpochAndSeedChangeTheAugmentation) {
  const Dataset set = make_set(PixelType::u8, {3, 5, 7});
  const std::vector<std::int64_t> samples = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto first = run<float>(Assembler(set, kColour, kSeed), samples, 0, Augment::on);
  EXPECT_NE(run<float>(Assembler(set, kColour, kSeed), samples, 1, Augment::on), first);
  EXPECT_NE(run<float>(Assembler(set, kColour, kSeed + 1), samples, 0, Augment::on), first);
}

void expect_config_error(const Transform& transform, const std::string& word) {
  try {
    const Assembler assembler(make_set(PixelType::u8, {3, 2, 2}), transform, 1);
    ADD_FAILURE() << "no ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(word));
  }
}

TEST(Assemble, AWrongNumberOfMeansNamesTheKey) {
  expect_config_error({0, Flip::off, {0.1, 0.2}, {}}, "data.mean: 2");
}
TEST(Assemble, AWrongNumberOfStdsNamesTheKey) {
  expect_config_error({0, Flip::off, {}, {1, 1, 1, 1}}, "data.std: 4");
}
TEST(Assemble, AStdOfZeroNamesTheKey) { expect_config_error({0, Flip::off, {}, {0.0}}, "data.std: 0"); }
TEST(Assemble, ANegativePaddingNamesTheKey) {
  expect_config_error({-1, Flip::off, {}, {}}, "data.crop_padding: -1");
}

TEST(Assemble, ASampleOutsideTheSetIsAnError) {
  const Assembler assembler(make_set(PixelType::u8, {1, 2, 2}), {}, 1);
  EXPECT_THROW(run<float>(assembler, {20}, 0, Augment::off), std::out_of_range);
}

TEST(Assemble, AnOutputOfAnotherSizeIsAnError) {
  const Assembler assembler(make_set(PixelType::u8, {1, 2, 2}), {}, 1);
  std::vector<float> out(5);
  const std::vector<std::int64_t> samples = {0};
  EXPECT_THROW(assembler.assemble(samples, 0, Augment::off, out), std::invalid_argument);
}

}  // namespace
}  // namespace kolo::data
