// The project's own sources, held against the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "rules.hpp"
#include "support/temp_dir.hpp"

namespace kolo::test {
namespace {

const std::filesystem::path kRoot = KOLO_SOURCE_DIR;

class Project : public testing::Test {
 protected:
  const ModuleGraph graph_{read_file(kRoot / "CMakeLists.txt")};
  const SourceTree tree_ = read_source_tree(kRoot);
};

TEST_F(Project, IsReadAtAll) {
  ASSERT_NE(graph_.find("util"), nullptr);
  ASSERT_NE(graph_.find("app"), nullptr);
  EXPECT_TRUE(graph_.reachable("app").contains("MPI::MPI_C"));
  ASSERT_TRUE(tree_.contains("include/kolo/util/error.hpp"));
  EXPECT_FALSE(tree_.at("include/kolo/util/error.hpp").includes.empty());
}

TEST_F(Project, ModulesPointDown) { EXPECT_THAT(check_module_order(graph_), testing::IsEmpty()); }

TEST_F(Project, IncludesFollowLinks) {
  EXPECT_THAT(check_includes_follow_links(tree_, graph_), testing::IsEmpty());
}

TEST_F(Project, TorchStaysInTorchModules) {
  EXPECT_THAT(check_torch_stays_in_torch_modules(tree_, graph_), testing::IsEmpty());
}

TEST_F(Project, TorchNeverMeetsSpdlog) {
  EXPECT_THAT(check_torch_never_meets_spdlog(tree_), testing::IsEmpty());
}

TEST_F(Project, MainIsShort) { EXPECT_THAT(check_main_is_short(tree_), testing::IsEmpty()); }

TEST_F(Project, HeadersExplainAndGuardThemselves) { EXPECT_THAT(check_headers(tree_), testing::IsEmpty()); }

TEST_F(Project, TextHasNoTabsAndNothingUnfinished) { EXPECT_THAT(check_text(tree_), testing::IsEmpty()); }

}  // namespace
}  // namespace kolo::test
