#include "cli/nvcc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/content_hash.h"

namespace tw::cli {
namespace {

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

}  // namespace
}  // namespace tw::cli
