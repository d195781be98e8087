// Moves pieces of lines to a pitch that suits TMA: what the kernels that repack share.
//
// Problem: a source line starts on any byte, and both sides want 16 bytes an access. Choice: each lane
// loads chunks on the 16-byte grid, takes what it lacks from the next lane, and stores whole chunks.
// Only chunks that hold a byte of the line are read, so nothing outside the matrix's pages is
// touched; a line's last chunk may carry the next line's bytes into the padding, which TMA never
// reads (its maps have the true width). Tested by tilewright-bench gemm --suite verify.
#pragma once

#include "common/hopper.cuh"
#include "gemm/lib/repack_order.h"

namespace tw::gemm {

// Lines that a warp moves at once, kPartBytes of each.
constexpr int kLinesInFlight = 4;

// A warp's walk over some lines of a part: load() brings kLinesInFlight of them into registers, store()
// writes them, and both go on to the next. Few warps move much, so what they compute counts: pointers
// are advanced, chunks past the end are the last one once more instead of guarded.
class LineMover {
 public:
  // From line `line` on, `most` of them as far as they exist; from byte `from` on.
  __device__ __forceinline__ LineMover(const RepackOperand& x, int line, int most, int64_t from,
                                       int lane)
      : lane_(lane), source_pitch_(x.source_pitch), target_pitch_(x.destination_pitch) {
    source_ = x.source + line * source_pitch_ + from;
    target_ = x.destination + line * target_pitch_ + from + lane * 16;
    left_ = min(most, x.lines - line);
    const int64_t rest = x.length - from;
    bytes_ = static_cast<int>(rest < kPartBytes ? rest : kPartBytes);
    readable_ = static_cast<int>(rest < 2 * kPartBytes ? rest : 2 * kPartBytes);
  }
  __device__ __forceinline__ bool more() const { return left_ > 0; }

  __device__ __forceinline__ void load() {
    first_ = static_cast<int>(reinterpret_cast<uintptr_t>(source_));
#pragma unroll
    for (int q = 0; q < kLinesInFlight; ++q) {
      const auto address = reinterpret_cast<uintptr_t>(source_);
      const auto* chunks = reinterpret_cast<const uint4*>(address & ~uintptr_t{15});
      // Chunks that hold a byte of the line.
      const int last = (readable_ + static_cast<int>(address & 15) - 1) >> 4;
#pragma unroll
      for (int j = 0; j < kChunks; ++j) value_[q][j] = __ldg(chunks + min(32 * j + lane_, last));
      if (lane_ == 0) beyond_[q] = __ldg(chunks + min(32 * kChunks, last));
      if (q + 1 < left_) source_ += source_pitch_;  // behind the last line comes the last line
    }
  }

  __device__ __forceinline__ void store() {
#pragma unroll
    for (int q = 0; q < kLinesInFlight; ++q) {
      if (q < left_) {
        const int shift = (first_ + q * static_cast<int>(source_pitch_)) & 15;
        switch (shift >> 2) {  // one for the line: the warp takes one branch
          case 0: store_line<0>(q, shift); break;
          case 1: store_line<1>(q, shift); break;
          case 2: store_line<2>(q, shift); break;
          default: store_line<3>(q, shift); break;
        }
      }
      target_ += target_pitch_;
    }
    left_ -= kLinesInFlight;
  }

 private:
  static constexpr int kChunks = kPartBytes / 512;  // a lane's chunks of a line
  static_assert(kChunks == 2, "a lane's neighbours are named below");

  // Stored words start `kWhole` words and `shift % 4` bytes into loaded ones.
  template <int kWhole> __device__ __forceinline__ void store_line(int q, int shift) const {
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      // Words from the next lane's chunk. Lane 0's own are wanted by nobody: it hands the last lane
      // what lies behind.
      const uint4 own = value_[q][j];
      const uint4 handed =
          lane_ != 0 ? own : (j + 1 < kChunks ? value_[q][(j + 1) % kChunks] : beyond_[q]);
      const uint32_t next[4] = {handed.x, handed.y, handed.z, handed.w};
      uint32_t word[8] = {own.x, own.y, own.z, own.w};
#pragma unroll
      for (int w = 0; w <= kWhole; ++w)
        word[4 + w] = __shfl_sync(0xffffffffu, next[w], (lane_ + 1) & 31);
      uint32_t out[4];
#pragma unroll
      for (int w = 0; w < 4; ++w)
        out[w] = __funnelshift_r(word[w + kWhole], word[w + kWhole + 1], (shift & 3) * 8);
      if ((32 * j + lane_) * 16 < bytes_)
        *reinterpret_cast<uint4*>(target_ + 512 * j) = make_uint4(out[0], out[1], out[2], out[3]);
    }
  }

  int lane_;
  const char* source_;  // of the next line to load
  char* target_;        // of this lane's first chunk of the next line to store
  int64_t source_pitch_, target_pitch_;
  int left_;              // lines
  int bytes_, readable_;  // of a line: to store; to load, a chunk more
  int first_ = 0;         // low bits of the first loaded line's address
  uint4 value_[kLinesInFlight][kChunks], beyond_[kLinesInFlight];  // beyond: lane 0's only
};

// A warp's share of what is moved while the product runs. The fence before a part is announced runs
// while loads of the next one are under way.
__device__ __forceinline__ void move_meanwhile(const RepackOrder& o) {
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
  while (index < o.parts) {
    const int following = take();  // under way while this part is moved
    const RepackPart part = part_at(o, index);
    const RepackOperand& x = part.of_b ? o.b : o.a;
    const PartPlace place = place_of(x, part);
    LineMover lines(x, place.line, kPartLines, place.byte, lane);
#pragma unroll 1
    while (lines.more()) {
      lines.load();
      if (moved != nullptr) announce();
      moved = nullptr;
      lines.store();
    }
    if (moved != nullptr) announce();
    moved = x.ready + part.k_band * x.bands + part.band;
    index = __shfl_sync(0xffffffffu, following, 0);
  }
  if (moved != nullptr) announce();
}

// Before bulk copies of what `count` parts at `counter` bring: they are there.
__device__ __forceinline__ void wait_for_parts(const int* counter, int count) {
  while (gpu::load_acquire(counter) < count) {
  }
  gpu::fence_async_global();
}

}  // namespace tw::gemm
