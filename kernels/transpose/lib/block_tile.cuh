// A block of several dimensions: src/transpose/block_plan.h says when and why.
//
// An element's place is the sum of its run's and its place within the run, in both arrays and in
// shared memory. Threads fill four tables (runs and places of either side), and then every 16 bytes
// cost a lookup in two of them. Filling them takes as long as moving a small block, so a CTA moves
// several blocks by the same tables.
//   find_corner   where a block begins, and what is left of each dimension; the next block's
//                 during a load
//   fill_places, fill_runs   the tables
//   load     runs of the input to shared memory
//   store    runs of the output; lanes are eight vectors of a run times four runs, on different
//            banks by the plan's skew
// A barrier between them. Pieces at the end of a dimension are shorter: runs that do not exist are
// marked, and a run's last dimension is cut. kVectors: 16 bytes at a time on both sides
// (BlockPlan::vectors), else element by element. Limits: pointers are multiples of the element.
//
// Tested by tests/unit/transpose/block_test.cpp.
#pragma once

#include "access.cuh"
#include "batch.cuh"
#include "transpose/block_plan.h"

namespace tilewright::detail {

struct BlockShape {
  int dims = 0, in_run_dims = 0, out_run_dims = 0, in_runs = 0, out_runs = 0, data_bytes = 0;
  int skew = 0, innermost_out = 0;
  uint32_t in_run = 0, out_run = 0;  // elements
  Divisor skew_every, in_moves;      // in_moves: vectors (elements) of a run of the input
  Divisor extent[plan::kBlockDims], blocks[plan::kBlockDims];  // blocks along each dimension
  uint32_t size[plan::kBlockDims], shared_stride[plan::kBlockDims];
  int64_t stride_in[plan::kBlockDims], stride_out[plan::kBlockDims];  // bytes
  int in_order[plan::kBlockDims], out_order[plan::kBlockDims];

  BlockShape() = default;
  BlockShape(const plan::BlockPlan& p, int element_bytes)
      : dims(p.dims),
        in_run_dims(p.in_run_dims),
        out_run_dims(p.out_run_dims),
        in_runs(p.in_runs),
        out_runs(p.out_runs),
        data_bytes((p.data_elements * element_bytes + 15) / 16 * 16),
        skew(p.skew),
        in_run(uint32_t(p.in_run)),
        out_run(uint32_t(p.out_run)),
        skew_every(uint32_t(p.skew_every)),
        in_moves(uint32_t(p.vectors ? p.in_run * element_bytes / 16 : p.in_run)) {
    for (int d = 0; d < dims; ++d) {
      extent[d] = Divisor(uint32_t(p.extent[d]));
      blocks[d] = Divisor(uint32_t((p.dim[d].size + p.extent[d] - 1) / p.extent[d]));
      size[d] = uint32_t(p.dim[d].size);
      shared_stride[d] = uint32_t(p.shared_stride[d]);
      stride_in[d] = p.dim[d].stride_in * element_bytes;
      stride_out[d] = p.dim[d].stride_out * element_bytes;
      in_order[d] = p.in_order[d];
      out_order[d] = p.out_order[d];
      if (p.dim[d].stride_out < p.dim[innermost_out].stride_out) innermost_out = d;
    }
  }
};

template <int kElement, bool kVectors, int kThreads> struct BlockTile {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kPerMove = kVectors ? 16 / kElement : 1;  // elements
  using Move = typename Unsigned<kPerMove * kElement>::Type;
  static constexpr int kBatch = sizeof(Move) > 8 ? 4 : 8;  // moves of a thread in flight
  static constexpr int kLanes = kVectors ? 8 : 32;         // of a warp along a run of the output

  struct Run {
    int64_t at;       // bytes from the block's corner; below 0: does not exist
    uint32_t shared;  // elements
  };
  // Where a block begins.
  struct Corner {
    int64_t in, out;                  // bytes
    uint32_t left[plan::kBlockDims];  // of every dimension, from here on
    uint32_t whole;                   // not 0: no dimension ends within the block
    uint32_t unused;
  };
  static_assert(2 * sizeof(Corner) == plan::kBlockCornerBytes);
  struct Tables {
    char* data;
    Run *in_runs, *out_runs;
    Corner* corner;  // of this block and of the next, in turns
    uint16_t *in_place, *out_place;
  };
  TW_DEVICE static Tables tables(const BlockShape& s, char* shared) {
    Tables t;
    t.data = shared;
    t.in_runs = reinterpret_cast<Run*>(shared + s.data_bytes);
    t.out_runs = t.in_runs + s.in_runs;
    t.corner = reinterpret_cast<Corner*>(t.out_runs + s.out_runs);
    t.in_place = reinterpret_cast<uint16_t*>(t.corner + 2);
    t.out_place = t.in_place + s.in_run;
    return t;
  }

  // The corner of block `index`, the output's run first: blocks that run together write
  // neighbouring bytes. One thread computes it.
  TW_DEVICE static void find_corner(int thread, const BlockShape& s, Corner& corner,
                                    uint32_t index) {
    if (thread != 0) return;
    int64_t in = 0, out = 0;
    bool whole = true;
    for (int k = 0; k < s.dims; ++k) {
      const int d = s.out_order[k];
      const uint32_t first = digit(s.blocks[d], index) * s.extent[d].value;
      in += int64_t(first) * s.stride_in[d];
      out += int64_t(first) * s.stride_out[d];
      corner.left[d] = s.size[d] - first;
      whole &= corner.left[d] >= s.extent[d].value;
    }
    corner.in = in;
    corner.out = out;
    corner.whole = whole;
  }

  TW_DEVICE static void fill_places(int thread, const BlockShape& s, const Tables& t) {
    places(thread, s, s.in_order, s.in_run_dims, s.in_run, t.in_place);
    places(thread, s, s.out_order, s.out_run_dims, s.out_run, t.out_place);
  }
  // Once more for a block that is not whole, and for the one behind it.
  TW_DEVICE static void fill_runs(int thread, const BlockShape& s, const Tables& t,
                                  const Corner& c) {
    runs(thread, s, c, s.in_order, s.in_run_dims, s.in_runs, s.stride_in, t.in_runs);
    runs(thread, s, c, s.out_order, s.out_run_dims, s.out_runs, s.stride_out, t.out_runs);
  }

  TW_DEVICE static void load(int thread, const BlockShape& s, const Tables& t, const Corner& c,
                             const char* in) {
    const uint32_t length = cut(s, c, s.in_order, s.in_run_dims, s.in_run);
    const uint32_t all = uint32_t(s.in_runs) * s.in_moves.value;
    in += c.in;
    for (uint32_t u0 = uint32_t(thread); u0 < all; u0 += kBatch * kThreads) {
      Move x[kBatch];
      uint32_t to[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        to[b] = ~0u;
        const uint32_t u = u0 + b * kThreads;
        if (u >= all) continue;
        const uint32_t index = s.in_moves.quotient(u),
                       p = (u - index * s.in_moves.value) * kPerMove;
        const Run run = t.in_runs[index];
        if (run.at < 0 || p >= length) continue;
        x[b] = detail::load<Move>(in + run.at + p * kElement);
        to[b] = run.shared + t.in_place[p];
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
        if (to[b] != ~0u) detail::store<Move>(t.data + to[b] * kElement, x[b]);
    }
  }

  TW_DEVICE static void store(int thread, const BlockShape& s, const Tables& t, const Corner& c,
                              char* out) {
    constexpr int kRuns = 32 / kLanes, kWarps = kThreads / 32;
    const uint32_t length = cut(s, c, s.out_order, s.out_run_dims, s.out_run);
    out += c.out;
    const int lane = thread & 31, step = kLanes * kPerMove;
    const int pieces = (int(s.out_run) + step - 1) / step,
              groups = (s.out_runs + kRuns - 1) / kRuns;
    int piece = thread >> 5, group = 0;
    while (piece >= pieces) piece -= pieces, ++group;
#pragma unroll 2
    while (group < groups) {
      const uint32_t p = uint32_t(piece * step + lane % kLanes * kPerMove);
      const int index = group * kRuns + lane / kLanes;
      if (index < s.out_runs && p < length) {
        const Run run = t.out_runs[index];
        if (run.at >= 0) detail::store<Move>(out + run.at + p * kElement, gather(t, run, p));
      }
      piece += kWarps;
      while (piece >= pieces) piece -= pieces, ++group;
    }
  }

 private:
  // kPerMove elements from place p of a run on, side by side.
  TW_DEVICE static Move gather(const Tables& t, const Run& run, uint32_t p) {
    if constexpr (kPerMove == 1) {
      return detail::load<Move>(t.data + (run.shared + t.out_place[p]) * kElement);
    } else {
      Vector v{};
#pragma unroll
      for (int e = 0; e < kPerMove; ++e) {
        const char* from = t.data + (run.shared + t.out_place[p + e]) * kElement;
        if constexpr (kElement == 8) {
          const uint64_t x = detail::load<uint64_t>(from);
          v.word[2 * e] = uint32_t(x), v.word[2 * e + 1] = uint32_t(x >> 32);
        } else {
          v.word[e * kElement / 4] |= uint32_t(detail::load<Item>(from)) << (e * kElement % 4 * 8);
        }
      }
      return v;
    }
  }

  // The lowest digit of `rest` to a base, taken off.
  TW_DEVICE static uint32_t digit(const Divisor& base, uint32_t& rest) {
    const uint32_t above = base.quotient(rest), d = rest - above * base.value;
    rest = above;
    return d;
  }
  TW_DEVICE static uint32_t shared_term(const BlockShape& s, int d, uint32_t i) {
    return i * s.shared_stride[d] +
           (d == s.innermost_out ? s.skew_every.quotient(i) * uint32_t(s.skew) : 0);
  }
  TW_DEVICE static void runs(int thread, const BlockShape& s, const Corner& corner,
                             const int* order, int run_dims, int count, const int64_t* strides,
                             Run* table) {
    for (int i = thread; i < count; i += kThreads) {
      Run run{0, 0};
      bool exists = true;
      uint32_t rest = uint32_t(i);
      for (int k = run_dims; k < s.dims; ++k) {
        const int d = order[k];
        const uint32_t c = digit(s.extent[d], rest);
        run.at += int64_t(c) * strides[d];
        run.shared += shared_term(s, d, c);
        exists &= c < corner.left[d];
      }
      if (!exists) run.at = -1;
      table[i] = run;
    }
  }
  TW_DEVICE static void places(int thread, const BlockShape& s, const int* order, int run_dims,
                               uint32_t run, uint16_t* place) {
    for (uint32_t p = uint32_t(thread); p < run; p += kThreads) {
      uint32_t rest = p, at = 0;
      for (int k = 0; k < run_dims; ++k)
        at += shared_term(s, order[k], digit(s.extent[order[k]], rest));
      place[p] = uint16_t(at);
    }
  }
  // Elements of a run that exist: its last dimension may be cut.
  TW_DEVICE static uint32_t cut(const BlockShape& s, const Corner& c, const int* order,
                                int run_dims, uint32_t run) {
    if (run_dims == 0) return run;
    const int last = order[run_dims - 1];
    const uint32_t left = c.left[last];
    return left < s.extent[last].value ? s.extent[last].quotient(run) * left : run;
  }
};

}  // namespace tilewright::detail
