// The wavefront rule against every measured row, a slow oracle built on sets, and partial masks.
#include "shadow/banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "lane_patterns.h"

namespace tw::shadow {
namespace {

constexpr uint32_t kAll = 0xffffffffu;

TEST(Banks, EveryMeasuredRow) {
  const auto patterns = read_lane_patterns();
  ASSERT_EQ(patterns.size(), 90u);
  for (const LanePattern& p : patterns) {
    const BankCount ld = count_banks(p.address.data(), kAll, p.width, SharedAccess::kLoad);
    const BankCount st = count_banks(p.address.data(), kAll, p.width, SharedAccess::kStore);
    EXPECT_EQ(ld.wavefronts, p.ld_wavefronts) << p.name << " width " << p.width;
    EXPECT_EQ(ld.conflicts(), p.ld_conflicts) << p.name << " width " << p.width;
    EXPECT_EQ(st.wavefronts, p.st_wavefronts) << p.name << " width " << p.width;
    EXPECT_EQ(st.conflicts(), p.st_conflicts) << p.name << " width " << p.width;
  }
}

// The rule again, spelled with sets: slow and plain.
BankCount oracle(const uint32_t* address, uint32_t mask, uint32_t width, SharedAccess access) {
  uint32_t lanes = width <= 4 ? 32 : width == 8 ? 16 : 8;
  for (uint32_t d : {1u, 2u}) {
    bool pairs = width > 4 && access == SharedAccess::kLoad;
    for (uint32_t l = 0; l < 32; ++l)
      if ((mask >> l & 1) && (mask >> (l ^ d) & 1) && address[l] != address[l ^ d]) pairs = false;
    if (pairs) {
      lanes = width == 8 ? 32 : 16;
      break;
    }
  }
  BankCount result;
  for (uint32_t first = 0; first < 32; first += lanes) {
    std::map<uint32_t, std::set<uint32_t>> banks;
    for (uint32_t l = first; l < first + lanes; ++l)
      if (mask >> l & 1)
        for (uint32_t i = 0; i < std::max(1u, width / 4); ++i) {
          const uint32_t word = address[l] / 4 + i;
          banks[word % 32].insert(word);
        }
    size_t most = 0;
    for (const auto& [bank, words] : banks) most = std::max(most, words.size());
    if (!banks.empty()) ++result.groups;
    result.wavefronts += static_cast<uint32_t>(most);
  }
  return result;
}

TEST(Banks, RandomPatternsAndMasksAgainstSets) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const uint32_t width = 1u << (random() % 5);
    const uint32_t span = 1u << (random() % 10);
    const bool paired = random() % 4 == 0;
    uint32_t address[32];
    for (uint32_t l = 0; l < 32; ++l)
      address[l] = paired && (l & 1) ? address[l - 1] : random() % span * width;
    uint32_t mask = random() % 3 == 0 ? kAll : random() & random();
    for (SharedAccess access : {SharedAccess::kLoad, SharedAccess::kStore}) {
      const BankCount got = count_banks(address, mask, width, access);
      const BankCount want = oracle(address, mask, width, access);
      ASSERT_EQ(got.wavefronts, want.wavefronts) << round;
      ASSERT_EQ(got.groups, want.groups) << round;
    }
  }
}

// Partial masks, as an H200 counted them (tests/gpu/shared_masks.py).
TEST(Banks, EveryMeasuredMask) {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tests/data/lane-masks-h200.tsv");
  ASSERT_TRUE(in) << "tests/data/lane-masks-h200.tsv";
  std::string line;
  std::getline(in, line);  // column names
  int rows = 0;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string name, mask_text, op;
    uint32_t width = 0, wavefronts = 0, conflicts = 0, address[32];
    fields >> name >> width >> mask_text >> op >> wavefronts >> conflicts;
    for (uint32_t& a : address) {
      fields >> a;
      a *= width;
    }
    ASSERT_TRUE(fields) << line;
    const auto mask = static_cast<uint32_t>(std::stoul(mask_text, nullptr, 16));
    const BankCount got =
        count_banks(address, mask, width, op == "ld" ? SharedAccess::kLoad : SharedAccess::kStore);
    EXPECT_EQ(got.wavefronts, wavefronts) << line;
    EXPECT_EQ(got.conflicts(), conflicts) << line;
    ++rows;
  }
  EXPECT_GE(rows, 1000);
}

// An assumption, not a measurement: atomics on one word are carried out one after the other.
TEST(Banks, AtomicsShareNoWord) {
  uint32_t column[32], row[32], same[32] = {}, halves[32];
  for (uint32_t l = 0; l < 32; ++l) column[l] = l * 128, row[l] = l * 4, halves[l] = l % 16 * 4;
  const auto wavefronts = [](const uint32_t* address, uint32_t width) {
    return count_banks(address, kAll, width, SharedAccess::kAtomic).wavefronts;
  };
  EXPECT_EQ(wavefronts(row, 4), 1u);
  EXPECT_EQ(wavefronts(halves, 4), 2u);
  EXPECT_EQ(wavefronts(same, 4), 32u);
  EXPECT_EQ(wavefronts(column, 4), 32u);
  EXPECT_EQ(wavefronts(same, 8), 32u);
  EXPECT_EQ(count_banks(same, kAll, 8, SharedAccess::kAtomic).groups, 2u);
  EXPECT_EQ(count_banks(same, kAll, 4, SharedAccess::kStore).wavefronts, 1u);
  EXPECT_EQ(count_banks(same, 0x7, 4, SharedAccess::kAtomic).conflicts(), 2u);
}

TEST(Banks, NoActiveLane) {
  const uint32_t address[32] = {};
  EXPECT_EQ(count_banks(address, 0, 4, SharedAccess::kLoad).wavefronts, 0u);
  EXPECT_EQ(count_banks(address, 0, 16, SharedAccess::kStore).conflicts(), 0u);
}

TEST(Banks, PartialMasks) {
  uint32_t column[32], wide[32];
  for (uint32_t l = 0; l < 32; ++l) {
    column[l] = l * 128;  // one bank
    wide[l] = l * 16;
  }
  EXPECT_EQ(count_banks(column, 0x1, 4, SharedAccess::kLoad).wavefronts, 1u);
  EXPECT_EQ(count_banks(column, 0xffff, 4, SharedAccess::kLoad).wavefronts, 16u);
  EXPECT_EQ(count_banks(column, 0x55555555, 4, SharedAccess::kLoad).conflicts(), 15u);
  EXPECT_EQ(count_banks(wide, 0xff, 16, SharedAccess::kStore).wavefronts, 1u);
  EXPECT_EQ(count_banks(wide, 0x01010101, 16, SharedAccess::kStore).wavefronts, 4u);
  EXPECT_EQ(count_banks(wide, 0x80000001, 16, SharedAccess::kStore).groups, 2u);
}

constexpr uint32_t constant_column() {
  uint32_t address[32] = {};
  for (uint32_t l = 0; l < 32; ++l) address[l] = l * 132;
  return count_banks(address, ~0u, 4, SharedAccess::kLoad).wavefronts;
}
static_assert(constant_column() == 1, "usable in constant expressions");

}  // namespace
}  // namespace tw::shadow
