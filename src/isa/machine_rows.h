// Rows whose bodies are not lane functions: memory, control flow, warp and CTA operations. The
// bodies live in src/emu under the row's name (Machine::ld -> emu/memory_handlers.cpp, ...).
#pragma once

#include "isa/row.h"

namespace tw::isa {

// clang-format off: one row a line, and the names in the order of the rows
enum class Machine : uint16_t {
  ld, st, cvta_to, cvta,
  bra, ret, exit, call, trap,
  bar_sync, barrier_sync, bar_warp_sync, membar, fence,
  bar_arrive, bar_red, bar_red_popc, barrier_arrive, barrier_red, barrier_red_popc, fence_proxy,
  atom, atom_float, atom_cas, red, red_float,
  shfl_sync, shfl, vote_sync, vote_ballot_sync, vote, vote_ballot, match_any, match_all, redux, redux_logic, activemask, elect,
  mbarrier_init, mbarrier_inval, mbarrier_arrive, mbarrier_arrive_drop, mbarrier_expect_tx, mbarrier_complete_tx, mbarrier_wait, mbarrier_wait_parity, mbarrier_pending,
  brx, nanosleep, prefetch, prefetchu, prefetch_bulk, isspacep, brkpt, pmevent, griddepcontrol,
  lop3_test, vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset,
  ldu, mov_vector, mov_wide, atom_wide, atom_vector, red_vector, createpolicy_range, createpolicy_fractional, createpolicy_cvt, discard, applypriority,
  cp_async_ca, cp_async_cg, cp_async_commit, cp_async_wait_group, cp_async_wait_all, cp_async_arrive,
  ldmatrix, stmatrix, movmatrix,
  mma_half, mma_bfloat, mma_tf32, mma_float8, mma_double, mma_byte, mma_nibble, mma_bit,
  wmma_load_a, wmma_load_b, wmma_load_c, wmma_store, wmma_half, wmma_bfloat, wmma_tf32, wmma_double, wmma_byte,
  wgmma_half, wgmma_bfloat, wgmma_tf32, wgmma_float8, wgmma_byte, wgmma_bit, wgmma_fence, wgmma_commit, wgmma_wait,
  bulk_load, bulk_store, bulk_tensor_load, bulk_tensor_store, bulk_commit, bulk_wait, fence_mbarrier_init, setmaxnreg,
  cluster_arrive, cluster_wait, mapa, getctarank, st_async, red_async, bulk_multicast, bulk_tensor_multicast, bulk_to_cluster,
  count
};
inline constexpr size_t kMachineRows = static_cast<size_t>(Machine::count);

inline constexpr Type kU32Only[] = {Type::u32};
// Scalar video instructions: spelled out in other instructions (emu/lower_video.cpp).
constexpr RowInfo scalar_video(std::string_view grammar, std::string_view manual, std::span<const Type> types = kIntegers32) {
  return {.grammar = grammar, .operands = "d{.part}, a{.part}, b{.part}{, c}", .types = types, .types2 = {}, .body = Body::control, .category = Category::integer, .min_ptx = 20, .min_sm = 20, .manual = manual, .takes = "tttt"};
}
inline constexpr std::string_view kScalarVideo = "scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax", kScalarVideoShift = "scalar-video-instructions-vshl-vshr";

// Matrix instructions: emu/lower_matrix.cpp. Their operands are vectors of registers, whose number
// it checks.
constexpr RowInfo matrix(std::string_view grammar, std::string_view operands, std::string_view manual, std::span<const Type> types, std::span<const Type> types2 = {}, uint16_t min_ptx = 70, uint16_t min_sm = 80, Category category = Category::matrix) {
  return {.grammar = grammar, .operands = operands, .types = types, .types2 = types2, .body = Body::warp, .category = category, .min_ptx = min_ptx, .min_sm = min_sm, .manual = manual};
}
// Of a warpgroup, four warps: emu/lower_warpgroup.cpp.
constexpr RowInfo warpgroup(std::string_view grammar, std::string_view operands, std::string_view manual, std::span<const Type> types, Category category = Category::matrix) {
  return matrix(grammar, operands, manual, types, {}, 80, 90, category);
}
// Bulk copies: emu/lower_bulk.cpp.
constexpr RowInfo bulk(std::string_view grammar, std::string_view operands, std::string_view manual, Category category = Category::other) {
  return {.grammar = grammar, .operands = operands, .types = {}, .types2 = {}, .body = Body::cta, .category = category, .min_ptx = 80, .min_sm = 90, .manual = manual};
}
// What CTAs of a cluster do to one another: emu/lower_cluster.cpp.
constexpr RowInfo cluster(std::string_view grammar, std::string_view operands, std::string_view manual, std::span<const Type> types, Category category, std::string_view takes = {}, uint16_t min_ptx = 78) {
  return {.grammar = grammar, .operands = operands, .types = types, .types2 = {}, .body = category == Category::move ? Body::control : Body::cta, .category = category, .min_ptx = min_ptx, .min_sm = 90, .manual = manual, .takes = takes};
}
inline constexpr Type kU32U64[] = {Type::u32, Type::u64};
inline constexpr Type kAsyncStores[] = {Type::b32, Type::b64, Type::u32, Type::u64, Type::s32, Type::s64, Type::f32, Type::f64};
inline constexpr Type kAsyncReductions[] = {Type::u32, Type::s32, Type::b32, Type::u64};
inline constexpr std::string_view kBulk = "data-movement-and-conversion-instructions-cp-async-bulk", kBulkTensor = "data-movement-and-conversion-instructions-cp-async-bulk-tensor";
inline constexpr std::string_view kWgmma = "asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-async";
inline constexpr std::string_view kProduct = "d, a, b, c", kMma = "warp-level-matrix-instructions-mma", kWmma = "warp-level-matrix-instructions-wmma-mma", kWmmaLoad = "warp-level-matrix-instructions-wmma-load";
inline constexpr Type kB16[] = {Type::b16};
inline constexpr Type kF16F32[] = {Type::f16, Type::f32};
inline constexpr Type kWmmaFactors[] = {Type::f16, Type::bf16, Type::tf32, Type::f64, Type::u8, Type::s8};
inline constexpr Type kWmmaSums[] = {Type::f16, Type::f32, Type::f64, Type::s32};

inline constexpr Type kB64Only[] = {Type::b64};
inline constexpr Type kAtomTypes[] = {Type::u32, Type::s32, Type::u64, Type::s64, Type::b32, Type::b64};
inline constexpr Type kAtomFloats[] = {Type::f32, Type::f64, Type::f16, Type::f16x2, Type::bf16, Type::bf16x2};
inline constexpr Type kAtomVectors[] = {Type::f32, Type::f16, Type::f16x2, Type::bf16, Type::bf16x2};
inline constexpr Type kWideOnly[] = {Type::b128};
inline constexpr Type kCasTypes[] = {Type::b16, Type::b32, Type::b64};

// Indexed by Machine.
inline constexpr RowInfo kMachineTable[kMachineRows] = {
    {.grammar = "ld{.mmio}{.ordering}{.scope}{.space}{.cache}*{.vec}.type", .operands = "d, [a]{, policy}", .types = kMemoryTypes, .types2 = {}, .body = Body::memory, .category = Category::load, .manual = "data-movement-and-conversion-instructions-ld", .takes = "Ta6"},
    {.grammar = "st{.mmio}{.ordering}{.scope}{.space}{.cache}*{.vec}.type", .operands = "[a], b{, policy}", .types = kMemoryTypes, .types2 = {}, .body = Body::memory, .category = Category::store, .manual = "data-movement-and-conversion-instructions-st", .takes = "aT6"},
    {.grammar = "cvta.to.space.type", .operands = "p, a", .types = kU16U32U64, .types2 = {}, .body = Body::control, .category = Category::move, .manual = "data-movement-and-conversion-instructions-cvta", .affine = Affine::copy, .takes = "tt"},
    {.grammar = "cvta.space.type", .operands = "p, a", .types = kU16U32U64, .types2 = {}, .body = Body::control, .category = Category::move, .manual = "data-movement-and-conversion-instructions-cvta", .affine = Affine::copy, .takes = "tt"},
    {.grammar = "bra{.uni}", .operands = "target", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-bra"},
    {.grammar = "ret{.uni}", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-ret"},
    {.grammar = "exit", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-exit"},
    {.grammar = "call{.uni}", .operands = "(ret), func, (params)", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-call"},
    {.grammar = "trap", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "miscellaneous-instructions-trap"},
    {.grammar = "bar{.cta}.sync", .operands = "a{, b}", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu"},
    {.grammar = "barrier{.cta}.sync{.aligned}", .operands = "a{, b}", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu"},
    {.grammar = "bar.warp.sync", .operands = "membermask", .types = {}, .types2 = {}, .body = Body::warp, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar-warp-sync", .takes = "u"},
    {.grammar = "membar.scope", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-membar"},
    {.grammar = "fence{.ordering}.scope", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-membar"},
    {.grammar = "bar{.cta}.arrive{.aligned}", .operands = "a, b", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu"},
    {.grammar = "bar{.cta}.red.redop{.aligned}.type", .operands = "p, a{, b}, {!}c", .types = kPred, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "pu{u}p"},
    {.grammar = "bar{.cta}.red.popc{.aligned}.type", .operands = "d, a{, b}, {!}c", .types = kU32Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu{u}p"},
    {.grammar = "barrier{.cta}.arrive{.aligned}", .operands = "a, b", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu"},
    {.grammar = "barrier{.cta}.red.redop{.aligned}.type", .operands = "p, a{, b}, {!}c", .types = kPred, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "pu{u}p"},
    {.grammar = "barrier{.cta}.red.popc{.aligned}.type", .operands = "d, a{, b}, {!}c", .types = kU32Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar", .takes = "uu{u}p"},
    {.grammar = "fence.proxy.proxykind{.space}", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-membar"},
    {.grammar = "atom{.ordering}{.scope}{.space}.atomop{.cache}*.type", .operands = "d, [a], b{, policy}", .types = kAtomTypes, .types2 = {}, .body = Body::memory, .category = Category::atomic, .manual = "parallel-synchronization-and-communication-instructions-atom", .takes = "tat6"},
    {.grammar = "atom{.ordering}{.scope}{.space}.add{.noftz}{.cache}*.type", .operands = "d, [a], b{, policy}", .types = kAtomFloats, .types2 = {}, .body = Body::memory, .category = Category::atomic, .manual = "parallel-synchronization-and-communication-instructions-atom", .takes = "tat6"},
    {.grammar = "atom{.ordering}{.scope}{.space}.cas{.cache}*.type", .operands = "d, [a], b, c", .types = kCasTypes, .types2 = {}, .body = Body::memory, .category = Category::atomic, .manual = "parallel-synchronization-and-communication-instructions-atom", .takes = "tatt"},
    {.grammar = "red{.ordering}{.scope}{.space}.atomop{.cache}*.type", .operands = "[a], b{, policy}", .types = kAtomTypes, .types2 = {}, .body = Body::memory, .category = Category::atomic, .manual = "parallel-synchronization-and-communication-instructions-red", .takes = "at6"},
    {.grammar = "red{.ordering}{.scope}{.space}.add{.noftz}{.cache}*.type", .operands = "[a], b{, policy}", .types = kAtomFloats, .types2 = {}, .body = Body::memory, .category = Category::atomic, .manual = "parallel-synchronization-and-communication-instructions-red", .takes = "at6"},
    {.grammar = "shfl.sync.shflmode.type", .operands = "d{|p}, a, b, c, membermask", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "data-movement-and-conversion-instructions-shfl-sync", .takes = "ttttu"},
    {.grammar = "shfl.shflmode.type", .operands = "d{|p}, a, b, c", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "data-movement-and-conversion-instructions-shfl", .takes = "tttt"},
    {.grammar = "vote.sync.votemode.type", .operands = "p, {!}a, membermask", .types = kPred, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-vote-sync", .takes = "ppu"},
    {.grammar = "vote.sync.ballot.type", .operands = "d, {!}a, membermask", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-vote-sync", .takes = "tpu"},
    {.grammar = "vote.votemode.type", .operands = "p, {!}a", .types = kPred, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-vote", .takes = "pp"},
    {.grammar = "vote.ballot{.sync}.type", .operands = "d, {!}a{, membermask}", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-vote", .takes = "tpu"},
    {.grammar = "match.any.sync.type", .operands = "d, a, membermask", .types = kBits32And64, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-match-sync", .takes = "utu"},
    {.grammar = "match.all.sync.type", .operands = "d{|p}, a, membermask", .types = kBits32And64, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-match-sync", .takes = "utu"},
    {.grammar = "redux.sync.reduxop.type", .operands = "d, a, membermask", .types = kIntegers32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-redux-sync", .takes = "uuu"},
    {.grammar = "redux.sync.reduxlogic.type", .operands = "d, a, membermask", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-redux-sync", .takes = "uuu"},
    {.grammar = "activemask.type", .operands = "d", .types = kB32, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-activemask", .takes = "t"},
    {.grammar = "elect.sync", .operands = "d|p, membermask", .types = {}, .types2 = {}, .body = Body::warp, .category = Category::warp, .manual = "parallel-synchronization-and-communication-instructions-elect-sync", .takes = "uu"},
    {.grammar = "mbarrier.init{.space}.type", .operands = "[addr], count", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "au"},
    {.grammar = "mbarrier.inval{.space}.type", .operands = "[addr]", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "a"},
    {.grammar = "mbarrier.arrive{.expect_tx}{.noComplete}{.ordering}{.scope}{.space}.type", .operands = "state, [addr]{, count}", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "lau"},
    {.grammar = "mbarrier.arrive_drop{.expect_tx}{.noComplete}{.ordering}{.scope}{.space}.type", .operands = "state, [addr]{, count}", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "lau"},
    {.grammar = "mbarrier.expect_tx{.ordering}{.scope}{.space}.type", .operands = "[addr], bytes", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "au"},
    {.grammar = "mbarrier.complete_tx{.ordering}{.scope}{.space}.type", .operands = "[addr], bytes", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "au"},
    {.grammar = "mbarrier.waitkind{.ordering}{.scope}{.space}.type", .operands = "p, [addr], state{, hint}", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "pal"},
    {.grammar = "mbarrier.waitkind.parity{.ordering}{.scope}{.space}.type", .operands = "p, [addr], parity{, hint}", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "pau"},
    {.grammar = "mbarrier.pending_count.type", .operands = "count, state", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "ul"},
    {.grammar = "brx.idx{.uni}", .operands = "a, tlist", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-brx-idx", .takes = "u"},
    {.grammar = "nanosleep.type", .operands = "t", .types = kU32Only, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "miscellaneous-instructions-nanosleep", .takes = "u"},
    {.grammar = "prefetch{.space}{.tensormap}{.level}", .operands = "[a]", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .manual = "data-movement-and-conversion-instructions-prefetch-prefetchu", .takes = "a"},
    {.grammar = "prefetchu.level", .operands = "[a]", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .manual = "data-movement-and-conversion-instructions-prefetch-prefetchu", .takes = "a"},
    {.grammar = "cp.async.bulk.prefetch.L2.global{.cache}*", .operands = "[a], size{, cache-policy}", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 80, .min_sm = 90, .manual = "data-movement-and-conversion-instructions-cp-async-bulk-prefetch", .takes = "au6"},
    {.grammar = "isspacep.space", .operands = "p, a", .types = {}, .types2 = {}, .body = Body::warp, .category = Category::compare, .manual = "data-movement-and-conversion-instructions-isspacep", .takes = "p"},
    {.grammar = "brkpt", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "miscellaneous-instructions-brkpt"},
    {.grammar = "pmevent{.mask}", .operands = "a", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .manual = "miscellaneous-instructions-pmevent"},
    {.grammar = "griddepcontrol.gdcmode", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-griddepcontrol"},
    {.grammar = "lop3.redop.type", .operands = "d|p, a, b, c, immLut, {!}q", .types = kB32, .types2 = {}, .body = Body::control, .category = Category::logic, .min_ptx = 82, .min_sm = 70, .manual = "logic-and-shift-instructions-lop3", .takes = "tttti"},
    scalar_video("vadd.type.atype.btype{.sat}{.second}", kScalarVideo),
    scalar_video("vsub.type.atype.btype{.sat}{.second}", kScalarVideo),
    scalar_video("vabsdiff.type.atype.btype{.sat}{.second}", kScalarVideo),
    scalar_video("vmin.type.atype.btype{.sat}{.second}", kScalarVideo),
    scalar_video("vmax.type.atype.btype{.sat}{.second}", kScalarVideo),
    scalar_video("vshl.type.atype.btype{.sat}.shiftmode{.second}", kScalarVideoShift),
    scalar_video("vshr.type.atype.btype{.sat}.shiftmode{.second}", kScalarVideoShift),
    scalar_video("vmad.type.atype.btype{.po}{.sat}{.scale}", "scalar-video-instructions-vmad"),
    scalar_video("vset.atype.btype.cmp{.second}", "scalar-video-instructions-vset", kU32Only),
    {.grammar = "ldu{.space}{.vec}.type", .operands = "d, [a]", .types = kMemoryTypes, .types2 = {}, .body = Body::memory, .category = Category::load, .min_ptx = 20, .manual = "data-movement-and-conversion-instructions-ldu", .takes = "Ta"},
    {.grammar = "mov.vec.type", .operands = "d, a", .types = kMoveTypes, .types2 = {}, .body = Body::control, .category = Category::move, .manual = "data-movement-and-conversion-instructions-mov", .takes = "tt"},
    {.grammar = "mov.type", .operands = "d, a", .types = kWideOnly, .types2 = {}, .body = Body::control, .category = Category::move, .min_ptx = 83, .min_sm = 70, .manual = "data-movement-and-conversion-instructions-mov"},
    {.grammar = "atom{.ordering}{.scope}{.space}.atomwide{.cache}*.type", .operands = "d, [a], b{, c}", .types = kWideOnly, .types2 = {}, .body = Body::memory, .category = Category::atomic, .min_ptx = 83, .min_sm = 90, .manual = "parallel-synchronization-and-communication-instructions-atom", .takes = "tatt"},
    {.grammar = "atom{.ordering}{.scope}{.space}.atomvec{.noftz}{.cache}*.vec.type", .operands = "d, [a], b{, policy}", .types = kAtomVectors, .types2 = {}, .body = Body::memory, .category = Category::atomic, .min_ptx = 81, .min_sm = 90, .manual = "parallel-synchronization-and-communication-instructions-atom", .takes = "tat6"},
    {.grammar = "red{.ordering}{.scope}{.space}.atomvec{.noftz}{.cache}*.vec.type", .operands = "[a], b{, policy}", .types = kAtomVectors, .types2 = {}, .body = Body::memory, .category = Category::atomic, .min_ptx = 81, .min_sm = 90, .manual = "parallel-synchronization-and-communication-instructions-red", .takes = "at6"},
    {.grammar = "createpolicy.range{.space}.primary{.secondary}.type", .operands = "d, [a], primary, total", .types = kB64Only, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 74, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-createpolicy", .takes = "tauu"},
    {.grammar = "createpolicy.fractional.primary{.secondary}.type", .operands = "d{, fraction}", .types = kB64Only, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 74, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-createpolicy"},
    {.grammar = "createpolicy.cvt.L2.type", .operands = "d, a", .types = kB64Only, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 74, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-createpolicy", .takes = "tt"},
    {.grammar = "discard{.space}.L2", .operands = "[a], 128", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 74, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-discard", .takes = "ai"},
    {.grammar = "applypriority{.space}.L2::evict_normal", .operands = "[a], 128", .types = {}, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 74, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-applypriority", .takes = "ai"},
    {.grammar = "cp.async.ca.space.global{.cache}*", .operands = "[dst], [src], cp-size{, src-size}{, cache-policy}", .types = {}, .types2 = {}, .body = Body::memory, .category = Category::load, .min_ptx = 70, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-cp-async", .takes = "aai"},
    {.grammar = "cp.async.cg.space.global{.cache}*", .operands = "[dst], [src], 16{, src-size}{, cache-policy}", .types = {}, .types2 = {}, .body = Body::memory, .category = Category::load, .min_ptx = 70, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-cp-async", .takes = "aai"},
    {.grammar = "cp.async.commit_group", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-cp-async-commit-group"},
    {.grammar = "cp.async.wait_group", .operands = "N", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all", .takes = "i"},
    {.grammar = "cp.async.wait_all", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all"},
    {.grammar = "cp.async.mbarrier.arrive{.noinc}{.space}.type", .operands = "[addr]", .types = kB64Only, .types2 = {}, .body = Body::cta, .category = Category::sync, .min_ptx = 70, .min_sm = 80, .manual = "parallel-synchronization-and-communication-instructions-mbarrier", .takes = "a"},
    matrix("ldmatrix.sync.aligned.m8n8.matrixcount{.trans}{.space}.type", "r, [p]", "warp-level-matrix-instructions-ldmatrix", kB16, {}, 65, 75, Category::load),
    matrix("stmatrix.sync.aligned.m8n8.matrixcount{.trans}{.space}.type", "[p], r", "warp-level-matrix-instructions-stmatrix", kB16, {}, 78, 90, Category::store),
    matrix("movmatrix.sync.aligned.m8n8.trans.type", "d, a", "warp-level-matrix-instructions-movmatrix", kB16, {}, 78, 75, Category::warp),
    matrix("mma.sync.aligned.halfshape.row.col.type.f16.f16.type2", kProduct, kMma, kF16F32, kF16F32, 65, 75),
    matrix("mma.sync.aligned.halfshape.row.col.type.bf16.bf16.type2", kProduct, kMma, kF32, kF32),
    matrix("mma.sync.aligned.tf32shape.row.col.type.tf32.tf32.type2", kProduct, kMma, kF32, kF32),
    matrix("mma.sync.aligned.float8shape.row.col.type.afloat8.bfloat8.type2", kProduct, kMma, kF32, kF32, 84, 89),
    matrix("mma.sync.aligned.doubleshape.row.col{.rnd}.type.f64.f64.type2", kProduct, kMma, kF64, kF64),
    matrix("mma.sync.aligned.byteshape.row.col{.satfinite}.type.abyte.bbyte.type2", kProduct, kMma, kS32, kS32, 65, 75),
    matrix("mma.sync.aligned.nibbleshape.row.col{.satfinite}.type.anibble.bnibble.type2", kProduct, kMma, kS32, kS32, 65, 75),
    matrix("mma.sync.aligned.bitshape.row.col.type.b1.b1.type2.bitop.popc", kProduct, kMma, kS32, kS32, 70, 75),
    matrix("wmma.load.a.sync.aligned.matrixlayout.wmmaload{.space}.type", "r, [p]{, stride}", kWmmaLoad, kWmmaFactors, {}, 60, 70, Category::load),
    matrix("wmma.load.b.sync.aligned.matrixlayout.wmmaload{.space}.type", "r, [p]{, stride}", kWmmaLoad, kWmmaFactors, {}, 60, 70, Category::load),
    matrix("wmma.load.c.sync.aligned.matrixlayout.wmmaload{.space}.type", "r, [p]{, stride}", kWmmaLoad, kWmmaSums, {}, 60, 70, Category::load),
    matrix("wmma.store.d.sync.aligned.matrixlayout.wmmaload{.space}.type", "[p], r{, stride}", "warp-level-matrix-instructions-wmma-store", kWmmaSums, {}, 60, 70, Category::store),
    matrix("wmma.mma.sync.aligned.matrixlayout.matrixlayout.wmmashape.type.type2{.satfinite}", kProduct, kWmma, kF16F32, kF16F32, 60, 70),
    matrix("wmma.mma.sync.aligned.matrixlayout.matrixlayout.wmmashape.type.bf16.bf16.type2", kProduct, kWmma, kF32, kF32),
    matrix("wmma.mma.sync.aligned.matrixlayout.matrixlayout.wmmatf32.type.tf32.tf32.type2", kProduct, kWmma, kF32, kF32),
    matrix("wmma.mma.sync.aligned.matrixlayout.matrixlayout.wmmadouble{.rnd}.type.f64.f64.type2{.rnd}", kProduct, kWmma, kF64, kF64),
    matrix("wmma.mma.sync.aligned.matrixlayout.matrixlayout.wmmashape.type.abyte.bbyte.type2{.satfinite}", kProduct, kWmma, kS32, kS32, 63, 72),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma16.type.f16.f16", "d, a, b, scale-d, scale-a, scale-b{, trans-a}, trans-b", kWgmma, kF16F32),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma16.type.bf16.bf16", "d, a, b, scale-d, scale-a, scale-b{, trans-a}, trans-b", kWgmma, kF32),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma8.type.tf32.tf32", "d, a, b, scale-d, scale-a, scale-b", kWgmma, kF32),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma32.type.afloat8.bfloat8", "d, a, b, scale-d, scale-a, scale-b", kWgmma, kF16F32),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma32.type.abyte.bbyte{.satfinite}", "d, a, b, scale-d", kWgmma, kS32),
    warpgroup("wgmma.mma_async.sync.aligned.wgmma256.type.b1.b1.bitop.popc", "d, a, b, scale-d", kWgmma, kS32),
    warpgroup("wgmma.fence.sync.aligned", "", "asynchronous-warpgroup-level-matrix-instructions-wgmma-fence", {}, Category::sync),
    warpgroup("wgmma.commit_group.sync.aligned", "", "asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group", {}, Category::sync),
    warpgroup("wgmma.wait_group.sync.aligned", "n", "asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group", {}, Category::sync),
    bulk("cp.async.bulk.sharedside.global.mbarrier::complete_tx::bytes{.cache}*", "[dst], [src], size, [mbar]{, policy}", kBulk),
    bulk("cp.async.bulk.global.shared::cta.bulk_group{.cache}*", "[dst], [src], size{, policy}", kBulk),
    bulk("cp.async.bulk.tensor.rank.sharedside.global{.tile}.mbarrier::complete_tx::bytes{.cache}*", "[dst], [map, {c}], [mbar]{, policy}", kBulkTensor),
    bulk("cp.async.bulk.tensor.rank.global.shared::cta{.tile}.bulk_group{.cache}*", "[map, {c}], [src]{, policy}", kBulkTensor),
    bulk("cp.async.bulk.commit_group", "", "data-movement-and-conversion-instructions-cp-async-bulk-commit-group"),
    bulk("cp.async.bulk.wait_group{.read}", "n", "data-movement-and-conversion-instructions-cp-async-bulk-wait-group"),
    bulk("fence.mbarrier_init.release.cluster", "", "parallel-synchronization-and-communication-instructions-membar", Category::sync),
    {.grammar = "setmaxnreg.regs.sync.aligned.type", .operands = "n", .types = kU32Only, .types2 = {}, .body = Body::control, .category = Category::other, .min_ptx = 80, .min_sm = 90, .manual = "miscellaneous-instructions-setmaxnreg"},
    cluster("barrier.cluster.arrive{.arriveorder}{.aligned}", "", "parallel-synchronization-and-communication-instructions-barrier-cluster", {}, Category::sync),
    cluster("barrier.cluster.wait{.acquire}{.aligned}", "", "parallel-synchronization-and-communication-instructions-barrier-cluster", {}, Category::sync),
    cluster("mapa{.clusterspace}.type", "d, a, b", "data-movement-and-conversion-instructions-mapa", kU32U64, Category::move, "ttu"),
    cluster("getctarank{.clusterspace}.type", "d, a", "data-movement-and-conversion-instructions-getctarank", kU32U64, Category::move, "ut"),
    cluster("st.async{.weak}{.clusterspace}.mbarrier::complete_tx::bytes{.vec}.type", "[a], b, [mbar]", "data-movement-and-conversion-instructions-st-async", kAsyncStores, Category::store, {}, 81),
    cluster("red.async.relaxed.cluster{.clusterspace}.mbarrier::complete_tx::bytes.asyncop.type", "[a], b, [mbar]", "parallel-synchronization-and-communication-instructions-red-async", kAsyncReductions, Category::atomic, {}, 81),
    bulk("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{.cache}*", "[dst], [src], size, [mbar], mask{, policy}", kBulk),
    bulk("cp.async.bulk.tensor.rank.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes.multicast::cluster{.cache}*", "[dst], [map, {c}], [mbar], mask{, policy}", kBulkTensor),
    bulk("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", "[dst], [src], size, [mbar]", kBulk),
};

}  // namespace tw::isa
