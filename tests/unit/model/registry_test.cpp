#include "kolo/model/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "kolo/util/error.hpp"

namespace kolo::model {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

ModelSpec small_spec(const std::string& name) {
  ModelSpec spec{{}, 3, 8, 8, 10};
  spec.section.name = name;
  return spec;
}

/// The ConfigError that the spec is refused with, or none.
std::optional<ConfigError> refusal(const ModelSpec& spec) {
  try {
    make_network(spec);
  } catch (const ConfigError& error) {
    return error;
  }
  return std::nullopt;
}

TEST(Registry, KnowsEveryModelOfTheLibrary) {
  EXPECT_THAT(network_names(),
              IsSupersetOf({"cnn", "mlp", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}));
}

TEST(Registry, UnknownNameIsRefusedWithTheNearestAndTheKnownOnes) {
  const auto error = refusal(small_spec("resnet19"));
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "model.name = resnet19: unknown model");
  EXPECT_THAT(error->hint(), HasSubstr("did you mean resnet18?"));
  EXPECT_THAT(error->hint(), HasSubstr("cnn, mlp, resnet101"));
}

TEST(Registry, NameLikeNoOtherGetsNoGuess) {
  const auto error = refusal(small_spec("transformer_xl"));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->hint(), testing::Not(HasSubstr("did you mean")));
}

TEST(Registry, ImagesTooSmallForTheModelAreRefused) {
  ModelSpec spec = small_spec("cnn");
  spec.height = 3;
  const auto low = refusal(spec);
  ASSERT_TRUE(low);
  EXPECT_THAT(low->what(), HasSubstr("3 x 3 x 8"));
  spec.height = 8;
  spec.width = 3;
  EXPECT_TRUE(refusal(spec));
  spec.width = 4;
  EXPECT_FALSE(refusal(spec));
}

TEST(Registry, ShapesBelowOneAreRefused) {
  for (const auto member :
       {&ModelSpec::channels, &ModelSpec::height, &ModelSpec::width, &ModelSpec::classes}) {
    ModelSpec spec = small_spec("mlp");
    spec.*member = 0;
    EXPECT_TRUE(refusal(spec));
  }
}

TEST(Registry, DropoutIsRefusedByModelsWithoutIt) {
  ModelSpec spec = small_spec("resnet18");
  EXPECT_FALSE(refusal(spec));
  spec.section.dropout = 0.5;
  const auto error = refusal(spec);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "model.dropout = 0.5: resnet18 has no dropout, expected 0");
}

TEST(Registry, MlpRefusesHiddenWidthsBelowOne) {
  ModelSpec spec = small_spec("mlp");
  spec.section.hidden = {16, 0};
  const auto error = refusal(spec);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "model.hidden = 16,0: expected widths of at least 1");
}

TEST(Registry, TakenNameIsRefused) {
  EXPECT_THROW(Registration("cnn", ModelEntry{nullptr}), std::logic_error);
}

}  // namespace
}  // namespace kolo::model
