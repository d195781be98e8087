#include "cli/nvcc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/content_hash.h"

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;

TEST(SplitWords, AsAShellDoes) {
  EXPECT_THAT(*split_words("-O2  -DN=5"), ElementsAre("-O2", "-DN=5"));
  EXPECT_THAT(*split_words("'-DNAME=a b' \"-DQ=\\\"x\\\"\" a\\ b ''"),
              ElementsAre("-DNAME=a b", "-DQ=\"x\"", "a b", ""));
  EXPECT_THAT(*split_words("  "), ElementsAre());
  EXPECT_FALSE(split_words("-DX='open").ok());
}

TEST(ParseDependencies, MakeRules) {
  EXPECT_THAT(parse_dependencies("out.o : a.cu \\\n  /usr/include/b.h \\\n c\\ d.h\n"),
              ElementsAre("a.cu", "/usr/include/b.h", "c d.h"));
  EXPECT_THAT(parse_dependencies("x: a$$b\nsecond: y\n"), ElementsAre("a$b"));
  EXPECT_THAT(parse_dependencies("no rule"), ElementsAre());
}

TEST(ContentHash, DistinguishesContents) {
  EXPECT_EQ(content_hash("").size(), 32u);
  EXPECT_NE(content_hash(""), content_hash(std::string(1, '\0')));
  EXPECT_NE(content_hash(std::string(16, '\0')), content_hash(std::string(17, '\0')));
  const std::string text(1000, 'x');
  for (size_t i = 0; i < text.size(); i++) {
    std::string other = text;
    other[i] = 'y';
    ASSERT_NE(content_hash(other), content_hash(text)) << i;
  }
}

// With a shell script in place of nvcc, which copies the source and counts its calls.
class CompileCache : public testing::Test {
 protected:
  void SetUp() override {
    write("nvcc",
          "#!/bin/sh\n"
          "while [ $# -gt 1 ]; do case $1 in -MF) rule=$2;; -o) out=$2;; esac; shift; done\n"
          "echo x >> \"$(dirname \"$0\")/calls\"\n"
          "cp \"$1\" \"$out\"; chmod +x \"$out\"; echo \"$out: $1\" > \"$rule\"\n");
    fs::permissions(folder_ / "nvcc", fs::perms::owner_all);
    setenv("TILEWRIGHT_NVCC", (folder_ / "nvcc").c_str(), 1);
    setenv("TILEWRIGHT_CACHE", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TILEWRIGHT_NVCC");
    unsetenv("TILEWRIGHT_CACHE");
    fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string compiled(const std::string& name) {
    const Result<std::string> program = compile({.source = (folder_ / name).string(), .flags = {}});
    return program.ok() ? *program : program.error().to_string();
  }
  uintmax_t calls() { return fs::file_size(folder_ / "calls") / 2; }
  void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  }

  const fs::path folder_ = [] {
    std::string name = fs::temp_directory_path() / "tilewright_cache_XXXXXX";
    return fs::path(mkdtemp(name.data()));
  }();
};

TEST_F(CompileCache, CompilesAgainOnlyWhatHasChanged) {
  write("a.cu", "first");
  const std::string program = compiled("a.cu");
  EXPECT_TRUE(fs::exists(program)) << program;
  EXPECT_EQ(compiled("a.cu"), program);
  EXPECT_EQ(calls(), 1u);
  write("a.cu", "second");
  EXPECT_NE(compiled("a.cu"), program);
  EXPECT_EQ(calls(), 2u);
}

TEST_F(CompileCache, ForgetsWhatNobodyHasUsedForAMonth) {
  write("old.cu", "old");
  write("kept.cu", "kept");
  const std::string old = compiled("old.cu"), kept = compiled("kept.cu");
  write("cache/somebody's", "else");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "cache"))
    age(entry.path());
  EXPECT_EQ(compiled("kept.cu"), kept);  // used: young again
  write("new.cu", "new");
  const std::string fresh = compiled("new.cu");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(folder_ / "cache/somebody's"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 5);
}

}  // namespace
}  // namespace tw::cli
