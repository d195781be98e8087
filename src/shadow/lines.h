// Race records of one allocation of global memory, by lines of 64 bytes.
//
// Nearly all accesses of tiled kernels move whole lines or long parts of them, by neighbouring lanes
// of one warp, or give one word to many lanes. Such a line needs few words: who wrote all of it, and
// two readers, each with the words that it has read. Only a line of which there is more to say gets
// cells (races.h), one for four bytes, or one for each byte once something smaller is accessed.
//
// Most lines are accessed once in a launch, whole and by one warp, when a kernel moves data. Then the
// line's tag says so (kWhole), and the words are not touched: a fifth of the memory.
//
// Memory, in bytes a byte: 0.38; lines with cells 4 more, 16 more when split to bytes; initcheck
// has 0.125 besides. Pages that no kernel touches cost nothing.
//
// Tested by tests/unit/shadow/races_test.cpp, filter_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shadow/filter.h"

namespace tw::shadow {

struct Cell {
  uint32_t write[2] = {0, 0}, read[2] = {0, 0};
  bool operator==(const Cell&) const = default;
};  // record * 32 + lane; 0: none

inline constexpr uint32_t kSaturated = 0x80000000u;  // in read[1]: two CTAs have read

// Which lanes of a record access which words of a line, in seven bits. Consecutive elements: the
// lane that has, or would have, word 0 (modulo 32), * 4 + log2(words of a lane). One element for
// many lanes: kSpread and the first of them; of a half-warp (0, 16), or of the whole warp (1).
inline constexpr uint32_t kSpread = 3;
inline constexpr uint32_t lanes_in_steps(uint32_t lane, uint32_t word, uint32_t log2_words) {
  return ((lane - (word >> log2_words)) & 31) << 2 | log2_words;
}

// Entries: record * 128 + lanes.
struct Line {
  uint32_t write = 0, read[2] = {0, 0};
  uint16_t words[2] = {0, 0};  // that read[0], read[1] have read
  // Number of its first block of 16 cells. With kActive they are in use, and read[0] is the latest
  // record in them.
  uint32_t cells = 0;
};

class Lines {
 public:
  static constexpr uint32_t kActive = 0x80000000u, kBytewise = 0x40000000u;

  void reset(uint64_t bytes);
  void forget() { reset(bytes_); }
  uint64_t bytes() const { return bytes_; }
  uint64_t count() const { return (bytes_ + 63) >> kLineShift; }

  // Tags. `launch`: a number below the generations (Order) of the present launch, above all earlier
  // ones. Smaller than that: not accessed in this launch; equal: accessed; the present generation:
  // loads need no note. With kWhole: accessed once, whole, by a warp that is still to be asked
  // about, since its record may be of an earlier launch.
  static constexpr uint32_t kWhole = 0x80000000u;
  uint32_t* tags() { return tags_.get(); }
  void untag(uint64_t number, uint32_t launch) {
    uint32_t& t = tags_[number];
    if (t > launch && t < kWhole) t = launch;
  }
  // Where nobody has accessed the line in this launch (records from `first` on): notes that a
  // record's lanes, of which lane `lane` has word 0, have accessed all of it.
  bool fresh(uint64_t number, uint32_t launch, uint32_t first) const {
    const uint32_t t = tags_[number];
    const uint32_t record = (t & ~kWhole) >> 7;
    return t < kWhole ? t < launch : record < first;
  }
  void note_whole(uint64_t number, uint32_t record, uint32_t lane, uint32_t log2_words,
                  bool write) {
    tags_[number] = kWhole | record << 7 | lane / 4 << 4 | log2_words << 1 | uint32_t(write);
  }
  // The words, to read and change.
  Line& line(uint64_t number, uint32_t launch) {
    uint32_t& t = tags_[number];
    if (t >= kWhole) unfold(number);
    if (t >= kWhole || t < launch) t = launch;
    return lines_[number];
  }
  // The words of a line that belong to the allocation.
  uint32_t words(uint64_t number) const {
    const uint64_t rest = bytes_ - (number << kLineShift);
    return rest >= 64 ? 16 : uint32_t((rest + 3) / 4);
  }

  // Cells of a line, made from its words where it had none in use; entries of records before
  // `first` are long ago.
  void expand(Line& l, uint32_t first);
  void split(Line& l);  // to bytes
  Cell* cells(const Line& l) { return block(l.cells & ~(kActive | kBytewise)); }
  static uint32_t shift(const Line& l) { return (l.cells & kBytewise) ? 0 : 2; }
  // Back to words: every cell is long ago.
  static void collapse(Line& l) {
    l.cells &= ~kActive;
    l.write = l.read[0] = l.read[1] = 0;
  }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  static constexpr uint32_t kChunk = 1024;  // blocks
  Cell* block(uint32_t number) { return chunks_[number / kChunk].get() + number % kChunk * 16; }
  uint32_t new_blocks(uint32_t count);  // 1 or 4, of one chunk
  void unfold(uint64_t number);         // a tag with kWhole, into the words

  uint64_t bytes_ = 0;
  std::unique_ptr<Line[], Free> lines_;
  std::unique_ptr<uint32_t[], Free> tags_;
  std::vector<std::unique_ptr<Cell[], Free>> chunks_;
  uint32_t next_ = 1;  // block 0 is none
};

}  // namespace tw::shadow
