// What is said about output files before a program runs.
#include "cli/output_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tw::cli {
namespace {

TEST(OutputFiles, AreLookedAtBeforeAnythingRuns) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("tilewright-output-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string a = folder + "/a.json", b = folder + "/b.json";
  std::ofstream(b) << "kept";
  EXPECT_TRUE(check_output_files({{"--json", a}, {"--sarif", b}}).ok());
  EXPECT_FALSE(std::filesystem::exists(a));  // nothing is left behind
  EXPECT_EQ(std::filesystem::file_size(b), 4u);
  EXPECT_TRUE(check_output_files({{"--json", ""}, {"--sarif", ""}}).ok());
  EXPECT_TRUE(check_output_files({{"--json", "-"}, {"--sarif", a}}).ok());
  EXPECT_TRUE(check_output_files({{"--json", "/dev/null"}, {"--sarif", "/dev/null"}}).ok());
  EXPECT_FALSE(check_output_files({{"--json", "-"}, {"--sarif", "-"}}).ok());
  EXPECT_FALSE(check_output_files({{"--json", a}, {"--sarif", a}}).ok());
  EXPECT_FALSE(check_output_files({{"--json", b}, {"--sarif", folder + "/./b.json"}}).ok());
  EXPECT_FALSE(
      check_output_files({{"--json", "no-such.json"}, {"--sarif", "./no-such.json"}}).ok());
  EXPECT_FALSE(check_output_files({{"--json", folder + "/none/a"}, {"--sarif", ""}}).ok());
  EXPECT_FALSE(check_output_files({{"--json", folder}, {"--sarif", ""}}).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tw::cli
