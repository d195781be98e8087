// Which GEMM kernel, and why: predicted time of every tile shape, cluster and split for a problem.
//
// Problem: the library must choose a kernel without trying any, and must be able to say why.
// Choice: a closed formula of a few lines from the tile's shape and the device's rates; the library
// takes the smallest prediction, `tilewright explain gemm` prints all of them. Nothing here knows
// CUDA; nothing here allocates except `gemm_candidates` and `explain_gemm`.
//
// One K block is 128 bytes of every row of A and column of B. A CTA spends on it the largest of
//   tensor cores   bm * bn / 32 clocks: 4096 bf16 operations per clock and SM (datasheet:
//                  989 TFLOP/s at 1830 MHz on 132 SMs), the same for tf32 (half the elements) and
//                  fp8 (twice)
//   shared memory  128 bytes a clock: each warpgroup reads its 64 rows of A and all of B, TMA
//                  writes both (a tenth of the writes fall into gaps)
//   L2             bytes that this CTA fetches itself (a cluster of c along M: 1/c of B each)
// (fp32 on CUDA cores: 128 multiply-adds per clock and SM, reached to `cuda_core_efficiency`.)
// A product with one narrow side is bound by reading the wide operand: DRAM gives its full rate to
// some eight megabytes in flight, however few SMs hold them (`dram_reach`). A tile adds its
// epilogue, a launch its latency, a partial last wave its emptiness, a split the reduction of its
// partial results, an unaligned operand its repacking; the gathering kernel needs none and pays by
// the K block.
//
// Limits: where no source is named, constants were fitted on one H200 to every kernel's time for 80
// shapes (tilewright-bench gemm --suite tiles; bench/results holds seven of them); a power-limited
// clock is folded into `tensor_efficiency`. Tested by tests/unit/model/gemm_model_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/gemm_kernels.h"

namespace tw::model {

struct GemmMachine {
  int sm_count = 132;
  double clock_ghz = 1.7;  // while a GEMM runs, below the boost clock
  double tensor_efficiency =
      0.875;                       // of the nominal tensor rate at that clock, power limit included
  double l2_bytes_per_clock = 69;  // per SM, all SMs at once
  double drain_bytes_per_clock = 24;  // ... of D, when all store at once
  // Ping-pong: the same for 160 columns and more, with no gap between tiles, and what narrower ones
  // lose; L2's rate with several waves and with few.
  double ping_pong_efficiency = 0.88, ping_pong_narrow = 1.8e-5;
  double ping_pong_l2 = 54, ping_pong_l2_few_waves = 62;
  // ... and with rows of A beyond 12 KiB, over whose length neighbours drift apart.
  double ping_pong_l2_long_rows = 44;
  // ... and what those take longer whose CTAs share nothing: with two rows of tiles, or with 160
  // columns and more and six waves (4096x11008x4096: 493 us, cuBLASLt's pairs 461).
  double ping_pong_alone = 1.02;
  // What the other tiles take more once the power limit rules.
  double warm_cooperative = 1.02;
  // fp8 with one set of partial sums (more than 128 columns): tensor cores wait while it is added.
  double one_set = 1.07;
  // Least clocks that a K block takes when a CTA has one warpgroup; and where there is one row of
  // tiles, whose CTAs all read the same blocks of A.
  double lone_warpgroup_clocks = 290, lone_one_row_clocks = 240;
  double outside_row_clocks = 2.5;  // for each row of a K block's boxes outside the matrix
  double cluster_start_us = 0.6;    // the CTAs of a cluster start together
  double cluster_sum_us = 2.5;      // cluster barriers; and bytes a CTA reads of its peers' sums:
  double cluster_read_gb_s = 33;
  double cuda_core_clock_ghz = 1.95, cuda_core_efficiency = 0.73;
  double cuda_core_k_major = 0.975, cuda_core_ragged = 0.82;
  double cuda_core_tma_efficiency = 0.845;
  double cuda_core_groups = 0.94;     // of that, where groups of warps share K
  double group_sum_us = 1.0;          // groups of warps that share K
  double cuda_core_few_warps = 0.27;  // with w warps an SM: at most this times 1 + w / 4
  double dram_gb_s = 4000;
  // Part of that rate that a megabyte in flight draws, beyond 0.3.
  double dram_reach_per_mb = 0.075, narrow_reach_per_mb = 0.09;
  double narrow_dram_gb_s = 4200;  // narrow kernel of 16 and 32 columns
  // Part of the shorter of computing and loading that is not hidden, and where there is one tile
  // along a side.
  double exposed = 0.15, exposed_streaming = 0.02;
  // What DRAM's rate loses where some SMs, or pairs of SMs, hold more CTAs than others; and where
  // the CTAs of a cluster share SMs that would be enough for one each.
  double uneven_sms = 0.4, uneven_pairs = 1.0, packed_clusters = 0.2, packed_sharing = 0.1;
  double uneven_turns = 0.2, uneven_turns_sharing = 0.1;  // ... with one CTA an SM, tile after tile
  double empty_sms = 0.03;                                // narrow kernel: SMs without a CTA
  double narrow_store_us = 0.4, narrow_sum_us = 0.6;  // narrow kernel: its epilogue, its cluster
  double copy_gb_s = 3700;                            // read plus write, for repacking and reducing
  double launch_us = 1.6;                             // launch, first bytes from DRAM, drain
  double reduce_us = 3.0;     // the kernel that sums splits, beside its bytes
  double transpose_us = 0.3;  // a transposition, beside its bytes: it starts as the one before ends
  double repack_us = 3.3;     // the kernel that repacks
  double repack_line_us = 5e-4;      // each line of a repacked operand
  double fma_narrow_round_us = 1.0;  // sgemm_narrow.cu: 64 k of a CTA
  // Repacking while the product runs: bytes read a ns that the warps for it reach, and what share
  // of a copy's time the product takes longer, with pairs of CTAs that share B and without.
  double meanwhile_gb_s = 700, meanwhile_cost_pairs = 0.3, meanwhile_cost = 0.45;
  // The least mainloop for which that was faster (2047 cubed in bf16: not; 4095 cubed in e4m3: 4 %).
  double meanwhile_least_us = 80;
  // Edges that ran in the last wave of the main part; where its warps multiplied some of them.
  double edges_tail_us = 6, edges_shared_tail_us = 4;
  double gather_launch_us = 2.4;
  // A K block of the gathering kernel, alone and for each warpgroup that shares the SM.
  double gather_block_us = 0.5, gather_warpgroup_us = 0.45;
};

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  int element_bytes = 2;  // of A and B
  int output_bytes = 2;
  bool cuda_cores = false;                        // fp32 on the CUDA cores (kCudaCoreTiles)
  bool repack_a = false, repack_b = false;        // pitch or address does not suit TMA
  bool a_mn = false, b_mn = false;                // as the kernel reads them: M or N along the line
  bool transpose_a = false, transpose_b = false;  // tensor cores: transposed into the workspace
  bool plain = true;  // D of the operands' own type and beta = 0: ping-pong kernels store no other
  // Width, pitch and address of D suit bulk copies: turned tiles store no other.
  bool bulk_d = true;
  bool may_move = true;  // the workspace has room to transpose or repack operands
  bool straddles_a = false, straddles_b = false;  // its lines do not start on 128 bytes
  bool on_idle_sms = false;  // it gets SMs that the last wave of another product leaves idle
  bool operator==(const GemmProblem&) const = default;
};

enum class GemmBound { kCudaCores, kTensorCores, kSharedMemory, kL2, kLatency, kDram };

struct GemmCandidate {
  GemmKernel kernel = GemmKernel::kTiled;
  int bm = 0, bn = 0, cluster = 1, raster_group = 8;
  int resident = 1;        // CTAs an SM holds at once
  bool shares_a = false;   // the CTAs of `cluster` lie along N and share A; else along M
  bool ping_pong = false;  // kTiled: each warpgroup has tiles of its own
  int groups = 1;          // kGather, kFma: parts of a CTA that share its K blocks
  // D is computed transposed: narrow kernels where the wide operand is B, tiles that store it
  // turned. Sides and operands are those of D^T = B^T A^T then: bm lies along n, `cluster` shares A.
  bool turned = false;
  int k_cluster = 1;  // CTAs of one cluster that split K of a tile and sum in shared memory
  int splits = 1;     // partial results in the workspace, summed by a second kernel
  // > 0: operands are repacked while the product runs, but for this many bands of K (kRepackBand K
  // blocks) of the first rows of A and columns of B, those of the first wave.
  int k_bands_ahead = 0;
  int64_t first_rows = 0, first_columns = 0;
  double repack_wait_us = 0;   // tiles that wait for lines that are not there yet
  bool moves_jointly = false;  // the second wave reads other rows, too, not only other columns
  int64_t waves = 0;
  double last_wave_fill = 0;  // share of the SMs that have a tile in the last wave
  double block_clocks = 0;    // one K block of one tile
  double mainloop_us = 0, epilogue_us = 0, dram_us = 0, reduce_us = 0, repack_us = 0;
  double total_us = 0;
  GemmBound bound = GemmBound::kTensorCores;
};

// Operands whose lines are only copied to another pitch, which a product can do while it runs.
inline bool moves_a(const GemmProblem& p) { return p.repack_a && !p.transpose_a; }
inline bool moves_b(const GemmProblem& p) { return p.repack_b && !p.transpose_b; }
// Whether a candidate reads operands only by TMA: others take any address and pitch.
bool needs_repack(const GemmCandidate& candidate);

// `shares_a`: the cluster lies along N and shares A; else along M, and shares B.
GemmCandidate predict_gemm(const GemmProblem& problem, const GemmMachine& machine, GemmTile tile,
                           int cluster, int k_cluster, int splits, bool shares_a = false);
GemmCandidate predict_sgemm_tma(const GemmProblem& problem, const GemmMachine& machine,
                                GemmTile tile, int k_cluster);
// D^T = B^T A^T in a tile that stores_turned.
GemmCandidate predict_turned(const GemmProblem& problem, const GemmMachine& machine, GemmTile tile,
                             int cluster);
// The narrow kernel; `turned`: m is the narrow side. Its width is the least that holds it. `rows`:
// of the wide operand, a CTA.
GemmCandidate predict_narrow(const GemmProblem& problem, const GemmMachine& machine, bool turned,
                             int k_cluster, int rows = kNarrowWide);
// Up to kFmaNarrowMost columns, or rows (`turned`), of fp32 on the CUDA cores.
GemmCandidate predict_sgemm_narrow(const GemmProblem& problem, const GemmMachine& machine,
                                   bool turned, int k_cluster);
GemmCandidate predict_gather(const GemmProblem& problem, const GemmMachine& machine, int groups,
                             int splits = 1);
// Bands of K in which operands are repacked while the product runs.
int repack_bands(const GemmProblem& problem);
// The candidate with the smallest predicted time. `max_splits`: what the workspace has room for.
GemmCandidate choose_gemm(const GemmProblem& problem, const GemmMachine& machine, int max_splits);
// What the library queues: a product, and where a few rows or columns beyond whole tiles would cost
// a wave (4097 cubed), those by launches of their own behind it.
struct GemmPlan {
  GemmCandidate main, rows, columns;
  int64_t m = 0, n = 0;     // of `main`; `rows`: what is left of m, all columns; `columns`: of n
  int64_t column_rows = 0;  // rows of `columns`; beyond them the warps that repack multiply
  double total_us = 0;
};
GemmPlan plan_gemm(const GemmProblem& problem, const GemmMachine& machine, int max_splits);
// Whether a row and a column beyond `main` are gathered while it repacks: there are no more of them.
bool gathers_edges(const GemmPlan& plan, const GemmProblem& problem);
// Splits of K whose fp32 sums have room in this many bytes, and are worth having: they stay in L2.
int most_splits(const GemmProblem& problem, int64_t workspace_bytes = int64_t{1} << 62);
// One line: tiles, clusters, splits, edges (gemm_explain.cpp).
std::string describe(const GemmCandidate& candidate);
std::string describe(const GemmPlan& plan, const GemmProblem& problem);
// The best candidate of every tile, fastest first.
std::vector<GemmCandidate> gemm_candidates(const GemmProblem& problem, const GemmMachine& machine,
                                           int max_splits);
// A table of them, what its columns mean, and one line of reason for each rejected one
// (gemm_explain.cpp).
std::string explain_gemm(const GemmProblem& problem, const GemmMachine& machine, int max_splits);

const char* to_string(GemmBound bound);

}  // namespace tw::model
