// Images in data/ were made by nvcc 13.0 (--compress-mode none, default, size, speed; machine code
// only).
#include "cudart/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tw::cudart {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> image(const std::string& name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/unit/cudart/data/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Fatbin, PlainEntriesOfThreeArchitectures) {
  const auto bytes = image("plain.fatbin");
  const auto entries = parse_fatbin(bytes);
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 3u);
  for (const FatbinEntry& e : *entries) {
    EXPECT_EQ(e.kind, FatbinEntry::Kind::ptx);
    EXPECT_EQ(e.compression, FatbinEntry::Compression::none);
    EXPECT_EQ(e.code_major, 9u);
    const auto text = fatbin_text(e);
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, HasSubstr(".target sm_" + std::to_string(e.arch)));
    EXPECT_THAT(*text, HasSubstr(".entry add"));
  }
}

TEST(Fatbin, ChoosesTheHighestArchitectureThatTheDeviceRuns) {
  const auto bytes = image("plain.fatbin");
  const auto entries = parse_fatbin(bytes);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(choose_ptx(*entries, 90)->arch, 90u);
  EXPECT_EQ(choose_ptx(*entries, 89)->arch, 80u);
  EXPECT_EQ(choose_ptx(*entries, 120)->arch, 100u);
  EXPECT_EQ(choose_ptx(*entries, 75), nullptr);
}

TEST(Fatbin, EveryCompressionGivesTheSameText) {
  std::string first;
  for (const char* name : {"speed.fatbin", "size.fatbin"}) {
    const auto bytes = image(name);
    const auto entries = parse_fatbin(bytes);
    ASSERT_TRUE(entries.ok());
    ASSERT_EQ(entries->size(), 1u);
    EXPECT_EQ((*entries)[0].compression,
              name[1] == 'p' ? FatbinEntry::Compression::lz4 : FatbinEntry::Compression::zstd);
    const auto text = fatbin_text((*entries)[0]);
    ASSERT_TRUE(text.ok()) << name << text.error().to_string();
    EXPECT_THAT(*text, HasSubstr(".entry add"));
    if (first.empty())
      first = *text;
    else
      EXPECT_EQ(first, *text);
  }
}

TEST(Fatbin, MachineCodeOnlyHoldsNoPtx) {
  const auto bytes = image("sass.fatbin");
  const auto entries = parse_fatbin(bytes);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ((*entries)[0].kind, FatbinEntry::Kind::elf);
  EXPECT_EQ(choose_ptx(*entries, 90), nullptr);
}

TEST(Fatbin, EveryTruncationIsAnError) {
  for (const char* name : {"plain.fatbin", "many.fatbin", "speed.fatbin"}) {
    const auto bytes = image(name);
    for (size_t n = 0; n < bytes.size(); n++) {
      const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + long(n));
      EXPECT_FALSE(parse_fatbin(part).ok()) << name << " cut to " << n;
    }
  }
}

// Every byte of the headers and of the compressed data changed in turn: an error or other text,
// never a crash.
TEST(Fatbin, SurvivesEveryChangedByte) {
  for (const char* name : {"many.fatbin", "speed.fatbin", "size.fatbin"}) {
    const auto bytes = image(name);
    for (size_t i = 0; i < bytes.size(); i++)
      for (const uint8_t flip : {0x01, 0x80, 0xff}) {
        auto damaged = bytes;
        damaged[i] ^= flip;
        const auto entries = parse_fatbin(damaged);
        if (!entries.ok()) continue;
        for (const FatbinEntry& e : *entries) (void)fatbin_text(e).ok();
      }
  }
}

TEST(Fatbin, ErrorsSayWhatAndWhere) {
  auto bytes = image("plain.fatbin");
  auto wrong = bytes;
  wrong[0] = 0;
  EXPECT_THAT(parse_fatbin(wrong).error().message, HasSubstr("0xba55ed50"));
  const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + 100);
  EXPECT_THAT(parse_fatbin(cut).error().message, HasSubstr("truncated: 100 bytes of"));
  auto long_entry = bytes;
  const uint64_t huge = ~uint64_t(0);
  std::memcpy(long_entry.data() + 16 + 8, &huge, 8);
  EXPECT_THAT(parse_fatbin(long_entry).error().message, HasSubstr("are left"));
}

TEST(Fatbin, ABombIsRefusedBeforeMemoryIsTaken) {
  auto bytes = image("size.fatbin");
  const uint64_t announced = kMaxTextBytes + 1;
  std::memcpy(bytes.data() + 16 + 56, &announced, 8);
  EXPECT_FALSE(parse_fatbin(bytes).ok());
  const uint64_t lie = kMaxTextBytes;
  std::memcpy(bytes.data() + 16 + 56, &lie, 8);
  const auto entries = parse_fatbin(bytes);
  ASSERT_TRUE(entries.ok());
  EXPECT_FALSE(fatbin_text((*entries)[0]).ok());
}

}  // namespace
}  // namespace tw::cudart
