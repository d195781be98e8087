// Moves pieces of lines to a pitch that suits TMA: what the kernels that repack share.
//
// Problem: a source line starts on any byte, and both sides want 16 bytes an access. Choice: each lane
// loads chunks on the 16-byte grid, takes what it lacks from the next lane, and stores whole chunks.
// Only chunks that hold a byte of the line are read, so nothing outside the matrix's pages is
// touched; a line's last chunk may carry the next line's bytes into the padding, which TMA never
// reads (its maps have the true width). Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <type_traits>

#include "common/hopper.cuh"
#include "gemm/lib/repack_order.h"

namespace tw::gemm {

// Walks the lines of a part. Lines kStride apart start at the same offset from the 16-byte grid, so
// that a warp takes one branch for all of them; it moves group after group of such lines. kRing lines
// are in flight: where one is stored, the next is loaded. Few warps move much, so what they compute
// counts: each lane loads what it lacks from its neighbour's chunk itself (the L1 cache has it), and
// chunks past the end are the last one once more instead of guarded.
template <int kElement, int kRing> class LineMover {
 public:
  static constexpr int kStride = kElement == 1 ? 16 : 8;
  static constexpr int kGroup = kBlockLines / kStride;
  static constexpr int kGroups = kStride / kPartsOfBlock;  // of a part
  static_assert(kRing <= kGroup && kGroup % kRing == 0, "a line's place is known at compile time");

  // Groups `group`.. of the part at `place`, `groups` of them, as far as their lines exist.
  __device__ __forceinline__ LineMover(const RepackOperand& x, const PartPlace& place, int group,
                                       int groups, int lane)
      : lane_(lane), source_pitch_(x.source_pitch), target_pitch_(x.destination_pitch) {
    const int lines = min(kBlockLines, x.lines - place.line);
    last_line_ = lines - 1;
    group_ = place.quarter * kGroups + group;
    end_ = min(group_ + groups, lines);
    const int64_t line = place.line + min(group_, last_line_);
    source_ = x.source + line * source_pitch_ + place.byte;
    target_ = x.destination + line * target_pitch_ + place.byte + lane * 16;
    const int64_t rest = x.length - place.byte;
    bytes_ = static_cast<int>(rest < kPartBytes ? rest : kPartBytes) - lane * 16;
    readable_ = static_cast<int>(rest < 2 * kPartBytes ? rest : 2 * kPartBytes);
  }

  // The first loads; then all the rest.
  __device__ __forceinline__ void start() {
    open_group(source_);
#pragma unroll
    for (int q = 0; q < kRing; ++q) load(group_, q);
  }
  __device__ __forceinline__ void finish() {
#pragma unroll 1
    while (group_ < end_) {
      const int shift = shift_;  // of the lines that are stored; loads go on to the next group
      switch (shift >> 2) {
        case 0: step<0>(shift); break;
        case 1: step<1>(shift); break;
        case 2: step<2>(shift); break;
        default: step<3>(shift); break;
      }
    }
  }

 private:
  static constexpr int kChunks = kPartBytes / 512;  // a lane's chunks of a line

  // Loads of the group whose first line starts here.
  __device__ __forceinline__ void open_group(const char* source) {
    const auto address = reinterpret_cast<uintptr_t>(source);
    shift_ = static_cast<int>(address & 15);
    load_ = reinterpret_cast<const char*>(address & ~uintptr_t{15});
    const int last = (readable_ + shift_ - 1) >> 4;  // chunks that hold a byte of the line
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      own_[j] = min(32 * j + lane_, last) * 16;
      next_[j] = min(32 * j + lane_ + 1, last) * 16;
    }
  }

  // Line `q` of group `group`.
  __device__ __forceinline__ void load(int group, int q) {
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      value_[q % kRing][j] = __ldg(reinterpret_cast<const uint4*>(load_ + own_[j]));
      beyond_[q % kRing][j] = __ldg(reinterpret_cast<const uint4*>(load_ + next_[j]));
    }
    // Behind the last line comes the last line.
    if (group + (q + 1) * kStride <= last_line_) load_ += kStride * source_pitch_;
  }

  // Stored words start `kWhole` words and `shift % 4` bytes into loaded ones.
  template <int kWhole> __device__ __forceinline__ void step(int shift) {
    const int bits = (shift & 3) * 8;
    const int group = group_++;
    char* to = target_;
    target_ += target_pitch_;
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
#pragma unroll
      for (int j = 0; j < kChunks; ++j) {
        const uint4 own = value_[q % kRing][j], next = beyond_[q % kRing][j];
        const uint32_t word[8] = {own.x, own.y, own.z, own.w, next.x, next.y, next.z, next.w};
        uint32_t out[4];
#pragma unroll
        for (int w = 0; w < 4; ++w)
          out[w] = __funnelshift_r(word[w + kWhole], word[w + kWhole + 1], bits);
        if (512 * j < bytes_ && group + q * kStride <= last_line_)
          *reinterpret_cast<uint4*>(to + 512 * j) = make_uint4(out[0], out[1], out[2], out[3]);
      }
      to += kStride * target_pitch_;
      if (q + kRing < kGroup) {
        load(group, q + kRing);
      } else if (group_ < end_) {
        if (q + kRing == kGroup) {
          source_ += source_pitch_;
          open_group(source_);
        }
        load(group_, q + kRing - kGroup);
      }
    }
  }

  int lane_;
  const char* source_;  // of the group whose loads come next, or are under way: its first line
  const char* load_;    // of the next line to load, on the 16-byte grid
  char* target_;        // of this lane's first chunk of the group to store
  int64_t source_pitch_, target_pitch_;
  int group_, end_;       // to store
  int last_line_;         // of the block
  int bytes_, readable_;  // of a line: to store, from this lane's chunk on; to load, a chunk more
  int shift_;             // of the loads' group
  int own_[kChunks], next_[kChunks];
  uint4 value_[kRing][kChunks], beyond_[kRing][kChunks];
};

// A warp's share of what is gathered, each lane's elements of a task in flight at once.
template <int kElement> __device__ __forceinline__ void gather_meanwhile(const RepackOrder& o) {
  using Word = std::conditional_t<kElement == 1, uint8_t,
                                  std::conditional_t<kElement == 2, uint16_t, uint32_t>>;
  constexpr int kEach = kGatherElements / 32;
  const int lane = threadIdx.x & 31;
  for (;;) {
    int task = __shfl_sync(0xffffffffu, lane == 0 ? atomicAdd(o.next_gather, 1) : 0, 0);
    if (task >= o.gathers) return;
    const Gather* g = o.gather;
    for (; task >= g->tasks; ++g) task -= g->tasks;
    const int first = task * kGatherElements + lane, count = g->lines * g->length;
    auto at = [&](int i, int64_t pitch) {  // offset of element i
      const int line = g->length == 1 ? i : i / g->length;
      return line * pitch + (i - line * g->length) * kElement;
    };
    Word word[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int i = first + 32 * j;
      if (i < count) word[j] = *reinterpret_cast<const Word*>(g->from + at(i, g->from_pitch));
    }
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int i = first + 32 * j;
      if (i < count) *reinterpret_cast<Word*>(g->to + at(i, g->to_pitch)) = word[j];
    }
    __syncwarp();
    if (lane == 0) {
      gpu::fence_gpu();
      gpu::add_relaxed(o.gathered, 1);
      gpu::add_relaxed(o.done, 1);
    }
  }
}

// A warp's share of what is moved while the product runs. The fence before a part is announced runs
// while loads of the next one are under way. True in the first warp that found none any more.
template <int kElement, int kRing>
__device__ __forceinline__ bool move_meanwhile(const RepackOrder& o) {
  const int lane = threadIdx.x & 31;
  auto take = [&] { return lane == 0 ? atomicAdd(o.next, 1) : 0; };
  int* moved = nullptr;  // the counter of the part that was moved last
  auto announce = [&] {
    __syncwarp();
    if (lane == 0) {
      gpu::fence_gpu();
      gpu::add_relaxed(moved, 1);
      gpu::add_relaxed(o.done, 1);
    }
  };
  int index = __shfl_sync(0xffffffffu, take(), 0);
#pragma unroll 1
  while (index < o.parts - o.gathers) {
    const int following = take();  // under way while this part is moved
    const RepackPart part = part_at(o, index);
    const RepackOperand& x = part.of_b ? o.b : o.a;
    const PartPlace place = place_of(x, part);
    using Mover = LineMover<kElement, kRing>;
    Mover lines(x, place, 0, Mover::kGroups, lane);
    if (place.line < x.lines) lines.start();
    if (moved != nullptr) announce();
    if (place.line < x.lines) lines.finish();
    moved = x.ready + part.k_band * x.bands + part.band;
    index = __shfl_sync(0xffffffffu, following, 0);
  }
  if (moved != nullptr) announce();
  return index == o.parts - o.gathers;
}

// Before bulk copies of what `count` parts at `counter` bring: they are there.
__device__ __forceinline__ void wait_for_parts(const int* counter, int count) {
  while (gpu::load_acquire(counter) < count) {
  }
  gpu::fence_async_global();
}

}  // namespace tw::gemm
