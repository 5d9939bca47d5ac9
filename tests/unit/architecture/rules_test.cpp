// The rules themselves, on made-up trees with one fault each: a rule that sees nothing would pass on the
// project too.
#include "rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "support/temp_dir.hpp"

namespace kolo::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kCmake = R"(
# kolo_module(ghost LINK nothing)
kolo_module(util LINK spdlog::spdlog)
kolo_module(config
            LINK kolo_util)
if(KOLO_TORCH)
  kolo_module(model TORCH WHOLE LINK kolo_config MPI::MPI_C)
  kolo_module(app TORCH LINK kolo_model)
endif()
)";

class FakeTree : public testing::Test {
 protected:
  void add(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((directory_ / path).parent_path());
    write_file(directory_ / path, text);
  }
  SourceTree tree() const { return read_source_tree(directory_.path()); }

  const ModuleGraph graph_{kCmake};

 private:
  TempDir directory_;
};

std::vector<std::string> places(const Violations& violations) {
  std::vector<std::string> result;
  for (const Violation& violation : violations) {
    result.push_back(violation.path + ":" + std::to_string(violation.line));
  }
  return result;
}

TEST(ModuleGraph, ReadsCallsOverSeveralLinesAndSkipsComments) {
  const ModuleGraph graph(kCmake);
  ASSERT_EQ(graph.modules().size(), 4u);
  EXPECT_EQ(graph.find("ghost"), nullptr);
  EXPECT_EQ(graph.find("config")->line, 4u);
  EXPECT_THAT(graph.find("config")->links, ElementsAre("kolo_util"));
  EXPECT_FALSE(graph.find("config")->torch);
  EXPECT_TRUE(graph.find("model")->torch);
}

TEST(ModuleGraph, ReachesThroughOtherModulesOnlyDownwards) {
  const ModuleGraph graph(kCmake);
  EXPECT_THAT(graph.reachable("app"), ElementsAre("MPI::MPI_C", "kolo_app", "kolo_config", "kolo_model",
                                                  "kolo_util", "spdlog::spdlog"));
  EXPECT_THAT(graph.reachable("config"), ElementsAre("kolo_config", "kolo_util", "spdlog::spdlog"));
}

TEST(ModuleOrder, CatchesALinkUpwards) {
  const ModuleGraph graph("kolo_module(a LINK kolo_b)\nkolo_module(b)");
  EXPECT_THAT(places(check_module_order(graph)), ElementsAre("CMakeLists.txt:1"));
}

TEST(ModuleOrder, CatchesATorchFreeModuleThatLinksATorchModule) {
  const ModuleGraph graph("kolo_module(a TORCH)\nkolo_module(b LINK kolo_a)");
  EXPECT_THAT(places(check_module_order(graph)), ElementsAre("CMakeLists.txt:2"));
}

TEST_F(FakeTree, IncludesAlongTheArrowsPass) {
  add("include/kolo/util/a.hpp", "// A.\n#pragma once\n#include <vector>\n");
  add("src/config/b.cpp",
      "#include \"kolo/util/a.hpp\"\n#include \"kolo/config/c.hpp\"\n#include \"own.hpp\"\n");
  add("src/main.cpp", "#include \"kolo/model/m.hpp\"\n#include <mpi.h>\n");
  EXPECT_THAT(check_includes_follow_links(tree(), graph_), IsEmpty());
}

TEST_F(FakeTree, AnIncludeAgainstTheArrowsIsNamedWithFileAndLine) {
  add("include/kolo/util/a.hpp", "// A.\n#pragma once\n\n#  include \"kolo/config/c.hpp\"\n");
  const Violations found = check_includes_follow_links(tree(), graph_);
  ASSERT_EQ(found.size(), 1u);
  std::ostringstream text;
  text << found.front();
  EXPECT_EQ(
      text.str(),
      "include/kolo/util/a.hpp:4: includes kolo/config/c.hpp, but module util does not link kolo_config");
}

TEST_F(FakeTree, ACommentedIncludeDoesNotCount) {
  add("src/util/a.cpp", "// #include \"kolo/config/c.hpp\"\n");
  EXPECT_THAT(check_includes_follow_links(tree(), graph_), IsEmpty());
}

TEST_F(FakeTree, ALibraryThatIsNotLinkedIsCaught) {
  add("src/config/a.cpp",
      "#include <spdlog/spdlog.h>\n#include <mpi.h>\n#include <boost/program_options.hpp>\n");
  EXPECT_THAT(places(check_includes_follow_links(tree(), graph_)),
              ElementsAre("src/config/a.cpp:2", "src/config/a.cpp:3"));
}

TEST_F(FakeTree, AnIncludeThatLeavesItsFolderIsCaught) {
  add("src/config/a.cpp", "#include \"../util/private.hpp\"\n");
  EXPECT_THAT(places(check_includes_follow_links(tree(), graph_)), ElementsAre("src/config/a.cpp:1"));
}

TEST_F(FakeTree, AFolderThatIsNoModuleIsCaught) {
  add("src/stray/a.cpp", "\n");
  EXPECT_THAT(places(check_includes_follow_links(tree(), graph_)), ElementsAre("src/stray/a.cpp:1"));
}

TEST_F(FakeTree, TorchInATorchFreeModuleIsCaught) {
  add("src/config/a.cpp", "#include <torch/torch.h>\n#include <ATen/ATen.h>\n#include <c10/core/Device.h>\n");
  add("src/model/b.cpp", "#include <torch/torch.h>\n");
  EXPECT_THAT(places(check_torch_stays_in_torch_modules(tree(), graph_)),
              ElementsAre("src/config/a.cpp:1", "src/config/a.cpp:2", "src/config/a.cpp:3"));
}

TEST_F(FakeTree, SpdlogBesideTorchIsCaught) {
  add("src/model/a.cpp", "#include <torch/torch.h>\n#include <spdlog/spdlog.h>\n");
  EXPECT_THAT(places(check_torch_never_meets_spdlog(tree())), ElementsAre("src/model/a.cpp:2"));
}

TEST_F(FakeTree, SpdlogBesideTorchIsCaughtThroughHeaders) {
  add("include/kolo/util/log.hpp", "// L.\n#pragma once\n#include <spdlog/spdlog.h>\n");
  add("include/kolo/model/net.hpp", "// N.\n#pragma once\n#include <ATen/core/Tensor.h>\n");
  add("src/model/part.hpp", "#pragma once\n#include \"kolo/util/log.hpp\"\n");
  add("src/model/a.cpp", "#include \"kolo/model/net.hpp\"\n#include \"part.hpp\"\n");
  add("src/model/b.cpp", "#include \"kolo/model/net.hpp\"\n");
  EXPECT_THAT(places(check_torch_never_meets_spdlog(tree())), ElementsAre("src/model/a.cpp:2"));
}

TEST_F(FakeTree, MainMayHave79LinesAndNoMore) {
  std::string text;
  for (int i = 0; i < 79; ++i)
    text += "//\n";
  add("src/main.cpp", text);
  EXPECT_THAT(check_main_is_short(tree()), IsEmpty());
  add("src/main.cpp", text + "//\n");
  EXPECT_THAT(places(check_main_is_short(tree())), ElementsAre("src/main.cpp:80"));
}

TEST_F(FakeTree, AHeaderWithoutGuardIsCaught) {
  add("src/util/a.hpp", "int f();\n");
  EXPECT_THAT(places(check_headers(tree())), ElementsAre("src/util/a.hpp:1"));
}

TEST_F(FakeTree, APublicHeaderWithoutOpeningCommentIsCaught) {
  add("include/kolo/util/a.hpp", "#pragma once\n// Late.\n");
  add("src/util/private.hpp", "#pragma once\n");
  EXPECT_THAT(places(check_headers(tree())), ElementsAre("include/kolo/util/a.hpp:1"));
}

TEST_F(FakeTree, TabsAndUnfinishedMarksAreCaughtInEveryKindOfFile) {
  add("src/util/a.cpp", "int x;\n\tint y;\n");
  add("jobs/a.sh",
      "# TO"
      "DO: later\n");
  add("cmake/b.cmake",
      "# (FIX"
      "ME)\n");
  add("input/c.ini",
      "# methoTO"
      "DOlogy is a word\n");
  EXPECT_THAT(places(check_text(tree())), ElementsAre("cmake/b.cmake:1", "jobs/a.sh:1", "src/util/a.cpp:2"));
}

}  // namespace
}  // namespace kolo::test
