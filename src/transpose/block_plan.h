// Permutations whose inner dimensions are small: blocks that span several dimensions.
//
// Problem: a batch of transposes over the last input and the last output dimension moves runs no
// longer than those dimensions: 8^8 reversed, runs of 32 bytes and matrices of 8 x 8. Choice: a
// block takes a piece of every dimension that lies innermost in the input *or* in the output, as
// many as make both runs long (kBlockBytes of data together), so that a CTA reads long runs and
// writes long runs. The place of an element in shared memory is a sum of one term for its run and
// one for its place in the run, on either side: tables of both serve all elements of a block
// (kernels/transpose/lib/block_tile.cuh).
//
// Tested by tests/unit/transpose/block_test.cpp.
#pragma once

#include <cstdint>

namespace tilewright::plan {

constexpr int kBlockDims = 8, kBlockThreads = 256, kBlockCtas = 6;  // kBlockCtas: of an SM
constexpr int kBlockBytes = 32768;                                  // of data in a block, at most
constexpr int kBlockShared = 49152;     // shared memory without opting in
constexpr int kBlockCornerBytes = 112;  // two corners of blocks (BlockTile::Corner)

// Strides in elements.
struct BlockDim {
  int64_t size, stride_in, stride_out;
};

struct BlockPlan {
  int dims = 0;  // 0: no block fits
  BlockDim dim[kBlockDims];
  int extent[kBlockDims];         // of a block
  int shared_stride[kBlockDims];  // elements
  int in_order[kBlockDims];       // dimensions of a run of the input, then the others
  int out_order[kBlockDims];      // the same of the output
  int in_run_dims = 0, out_run_dims = 0;
  int in_run = 1, in_runs = 1, out_run = 1, out_runs = 1;  // elements of a run, runs of a block
  // Element i along the output's innermost dimension lies skew * (i / skew_every) elements further
  // than its stride says, so that what lanes read together lies on different banks.
  int skew = 0, skew_every = 1;
  bool vectors = false;   // runs, and what is cut off them, are whole 16-byte vectors
  int data_elements = 0;  // in shared memory, gaps included
  int shared_bytes = 0;
  int64_t blocks = 1, ctas = 1;  // fewer CTAs than blocks: each moves several
};

// Precondition: sizes at least 1 and below 2^31; strides at least 0, distinct elements of the output
// at distinct places. `aligned`: both arrays start on 16 bytes.
BlockPlan plan_block(const BlockDim* dim, int dims, int element_bytes, bool aligned, int sm_count);

}  // namespace tilewright::plan
