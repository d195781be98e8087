// Random structured kernels as PTX text: arithmetic of several widths, nested divergent branches
// and loops, guards, shared memory between barriers, warp operations, local memory, shared atomics.
// Free of races and of everything the manual leaves undefined, so every correct machine computes
// the same bits. Floating-point instructions spell .rn: ptxas may contract others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw::random {

struct RandomKernel {
  std::string ptx;  // a whole module with one entry `k(.param .u64 out, .param .u64 in)`
  uint32_t blocks = 1, threads = 32;
  uint32_t words = 16;  // written by each thread: out[(ctaid * ntid + tid) * words + i]
};

RandomKernel make_kernel(uint64_t seed);

// in[i] of every kernel: 32-bit words, read at (thread number * 8 + i).
uint32_t input_word(uint64_t index);
inline constexpr uint32_t kInputWords = 8;

// FNV-1a over the output words.
uint64_t hash_words(const std::vector<uint32_t>& words);

}  // namespace tw::random
