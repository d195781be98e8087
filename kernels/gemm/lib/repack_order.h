// Operands repacked while the product that reads them runs: what is moved when, and who waits for
// it.
//
// Problem: at 4095 cubed a repack of A and B ahead of the product takes 36 us beside 175, bound by
// DRAM, which then idles while the tensor cores work. Choice: a kernel of its own moves only what the
// first K blocks of the first tiles need; the rest is moved by a warpgroup more in each of the
// product's CTAs, in the order in which tiles want it. Parts of eight lines by 1 KiB are handed out by
// a counter, so that any CTA that runs gets everything moved, however few of them are on the machine:
// nobody waits for a CTA that has not started. (Parts are small, since each of 528 warps has one in
// hand while the first tiles wait for the next band.) The threads that issue the bulk copies wait for
// a cell (a band of lines or columns by a band of K) until all of its parts are there.
//
// Limits: one matrix, no batch. Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "model/gemm_kernels.h"

namespace tw::gemm {

// A part: a quarter of as many lines as a block has, those that start at the same offsets from the
// 16-byte grid together (LineMover), by as many bytes of them.
constexpr int kBlockLines = 32, kPartsOfBlock = 4, kPartBytes = 1024;
// Lines of a K-major operand in a band; of an MN-major one a band is kPartBytes wide.
constexpr int kBandLines = 256;

// One operand. K-major: a line is a row of op(A) or a column of op(B); MN-major: a line is one k.
struct RepackOperand {
  const char* source;  // null: the operand is read as it lies
  char* destination;
  int64_t source_pitch, destination_pitch, length;  // bytes
  int lines;
  int bands;  // along m or n
  int group;  // bands that tiles want at about the same time
  int parts;  // of a cell
  bool mn_major;
  int* ready;  // parts of each cell that are there, [k band][band]
};

// Few elements that lie far apart, copied one by one: `lines` of `length` elements.
struct Gather {
  const char* from;
  char* to;
  int64_t from_pitch, to_pitch;  // bytes
  int lines, length;
  int tasks;  // of kGatherElements
};
constexpr int kGatherElements = 128;

// A column of D beyond the product, from row `first` on: rows of A that were moved last, and lie in
// L2, times the column of B that is cut off. The warps that have moved them multiply (edge_lines.cuh).
struct EdgeColumn {
  const char* matrix;  // op(A) as TMA reads it
  int64_t pitch;       // bytes
  int first, end;      // rows, multiples of 128
  bool mn_major;
  int tasks;
  int k_ranges,
      k_range;     // MN-major: parts of K, and how long each is (the last takes what is left)
  float* partial;  // their sums, [range][row]
  int* arrived;    // ranges that are summed, of each stripe of kEdgeStripe rows
  int* next;       // the next task that nobody has taken
};
constexpr int kEdgeLines = 8, kEdgeStripe = 256;  // rows of a task: K-major, MN-major

struct RepackOrder {
  RepackOperand a, b;
  EdgeColumn edge;
  // Two warps of each CTA that are idle otherwise copy what is short: what is left of K behind whole
  // bands, the row and the column that are multiplied apart.
  Gather gather[4];
  int gathers;       // tasks of all of them
  int* next_gather;  // the next task that nobody has taken
  int* gathered;     // those that are done
  // K elements on end of a row of A and a column of B beyond the product, else null. Where both are
  // there, the warp that finds no part any more multiplies them: the element where they meet.
  const char *row, *column;
  int element_bytes;
  int k_bands;  // of model::kRepackBand K blocks; what lies behind them is gathered
  int ahead;    // parts that a kernel of its own moves before the product starts
  int parts;    // all of them, and all gathers; 0: nothing is moved while the product runs
  bool joint;   // later groups of A and of B side by side; else those of B first
  int* next;    // the next part that nobody has taken
  int* done;    // parts that are there
};

struct RepackPart {
  bool of_b;
  int k_band, band, part;  // part: of its cell
};

// Group after group, and in a group one band of K after the other. The first groups of A and B are
// moved side by side, since the first tiles want both; then the other groups of B, which the next
// tiles want, and those of A.
__host__ __device__ inline RepackPart part_at(const RepackOrder& o, int index) {
  auto least = [](int x, int y) { return x < y ? x : y; };
  for (int a = 0, b = 0;;) {  // the first bands of this group
    const int bands_b = least(o.b.bands - b, o.b.group);
    const bool both = b == 0 || o.joint || bands_b == 0;
    const int bands_a = both ? least(o.a.bands - a, o.a.group) : 0;
    const int parts_a = bands_a * o.a.parts, parts = parts_a + bands_b * o.b.parts;
    if (index >= parts * o.k_bands) {
      index -= parts * o.k_bands;
      a += bands_a;
      b += bands_b;
      continue;
    }
    const int k_band = index / parts;
    index -= k_band * parts;
    const bool of_b = index >= parts_a;
    if (of_b) index -= parts_a;
    const int each = of_b ? o.b.parts : o.a.parts, band = index / each;
    return {of_b, k_band, (of_b ? b : a) + band, index - band * each};
  }
}

// Where a part lies: in the block of lines from this line and byte on, and which quarter of it.
struct PartPlace {
  int line;
  int64_t byte;
  int quarter;
};
__host__ __device__ inline PartPlace place_of(const RepackOperand& x, const RepackPart& part) {
  const int block = part.part / kPartsOfBlock, quarter = part.part % kPartsOfBlock;
  const int blocks = x.parts / kPartsOfBlock;  // of a cell
  return x.mn_major ? PartPlace{(part.k_band * blocks + block) * kBlockLines,
                                int64_t{part.band} * kPartBytes, quarter}
                    : PartPlace{part.band * kBandLines + block * kBlockLines,
                                int64_t{part.k_band} * kPartBytes, quarter};
}

}  // namespace tw::gemm
