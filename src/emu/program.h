// A kernel decoded for one block shape: what the warps execute.
//
// Two instruction arrays hold the same blocks: `full` for warps whose 32 lanes all take part,
// `masked` for the rest. They differ in length, so places are exchanged only at block starts. The
// block shape is known (%ntid is a constant, %tid.y is uniform when the rows are whole warps, ...),
// and so is the shape of clusters;
// grid size and parameter values are not: they lie in the uniform area and change from launch to
// launch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/lane_handlers.h"
#include "emu/memory_handlers.h"
#include "emu/op.h"
#include "ptx/module.h"
#include "util/result.h"

namespace tw::emu {

// The first slots of every frame's uniform area (8 bytes each).
enum UniformSlot : uint32_t {
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kWarpId,
  kGridId,
  kSmId,
  kDynamicShared,
  kEnvreg1,
  kEnvreg2,  // address of a cooperative launch's workspace, high and low word
  kFirstFree
};

// Lane slots that are filled once per CTA object.
enum class LaneInit : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  lane_id,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge
};
struct LaneInitSlot {
  LaneInit what;
  uint32_t offset;
  bool uniform;
};

inline constexpr uint32_t kNoSite = ~0u;

struct Site {
  const ptx::Function* function = nullptr;
  uint32_t instruction = 0;  // index into function->instructions
  uint32_t call = kNoSite;   // the site of the call at which the function is inlined
};

struct Block {
  uint32_t full = 0, masked = 0;  // first Op
  // From here on lanes may do something that others see before they wait for all of their CTA or
  // warp.
  bool acts = false;
  std::vector<uint32_t> sites;  // of the instructions that begin in it, in order
};

struct RowFilter;  // observer.h

// What a load brings only to be stored elsewhere (copies.cpp).
struct CopiedValue {
  uint32_t site = 0;              // of the load
  uint8_t offset = 0, bytes = 4;  // in what it loads
  bool local = false;             // from local memory, perhaps
  int32_t low = 0, high = 4;      // the larger copy that it is a part of, from this value's address
};
inline constexpr uint32_t kNoCopy = ~0u;

struct Program {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;
  std::array<uint32_t, 3> block_shape{};
  std::array<uint32_t, 3> cluster{1, 1, 1};  // CTAs
  std::vector<Op> full, masked;
  std::vector<Block> blocks;
  std::vector<Site> sites;
  uint32_t frame_bytes = 0;
  uint32_t uniform_bytes = 0;  // of the frame's uniform area
  uint32_t private_begin = 0,
           private_end = 0;       // uniform registers: what paths keep apart once a warp has split
  uint32_t parameter_offset = 0;  // where the kernel's parameters lie in the uniform area
  uint32_t parameter_bytes = 0;
  std::vector<std::pair<uint32_t, uint64_t>> constants;  // uniform offset -> value
  std::vector<LaneInitSlot> lane_inits;
  uint64_t static_shared_bytes = 0;
  uint64_t local_bytes = 0;      // a thread, without its stack
  bool has_subroutines = false;  // functions that were not inlined: threads have a stack
  bool parameters_addressed =
      false;  // the kernel takes a parameter's address: it must lie in memory
  uint32_t parameter_address_offset = 0;  // uniform slot that holds that address
  // Order-dependent: results can depend on the order of CTAs (floating atomics, atomics whose
  // result is used, strong accesses). Such kernels run their CTAs in one fixed interleaving.
  bool order_dependent = false;
  // Threads may order one another by other means than barriers: memory, in global or shared space.
  bool schedule_dependent = false;
  bool async_shared = false;  // it has cp.async, bulk copies, st.async or wgmma
  uint32_t cluster_ctas() const { return cluster[0] * cluster[1] * cluster[2]; }
  uint8_t observed = 0;                      // ObservedEvents it was decoded for
  std::vector<const RowFilter*> rows;        // fused rows of shared loads; kObserveFiltered
  std::vector<CopiedValue> copied;           // kObserveAccesses
  uint32_t registers = 0;                    // estimate: 32-bit registers live at once
  std::vector<std::shared_ptr<void>> owned;  // what Op::extra points to
};

// What a kernel, or a function it calls, names. nvcc puts the shared arrays of all kernels at
// module scope; a CTA has room for those of its own kernel only.
struct Reachable {
  std::vector<bool> variables;                  // by Module::variables index
  std::vector<const ptx::Function*> functions;  // with their bodies, where the module has them
};
Reachable reachable_from(const ptx::Module& module, const ptx::Function& kernel);

// Where a module's symbols are: filled by the loader.
struct SymbolAddresses {
  std::vector<uint64_t>
      variables;  // by Module::variables index; generic address (global, constant) or shared offset
};

struct DecodeOptions {
  std::array<uint32_t, 3> block_shape{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint8_t observed = 0;  // ObservedEvents: what is reported to the Observer
};

// The handlers of the instruction set in use (targets.cpp).
struct Target {
  const char* name;
  const LaneRowHandlers* (*lane_row)(uint32_t row);
  Handler (*memory)(const MemoryKey&);
  DotHandlerTable dot;
  GlobalDotHandlerTable global_dot;
  Handler fma_row;
};
const Target& host_target();  // the best this machine runs; TILEWRIGHT_TARGET overrides
std::vector<const Target*> supported_targets();

// The error is an unsupported or malformed instruction, with its PTX line.
Result<std::unique_ptr<Program>> decode(const ptx::Module& module, const ptx::Function& function,
                                        const SymbolAddresses& symbols,
                                        const DecodeOptions& options, const Target& target);

// "kernel.cu:12: ld.global.f32 %f1, [%rd4]": for messages. Code of the toolkit's headers, and
// functions without line information, stand for the line of the user's that calls them.
struct SitePlace {
  std::string file;
  uint32_t line = 0;
  bool source = false;  // a line of the source; otherwise of the PTX
  std::string text;
};
SitePlace place_of(const Program& program, uint32_t site);

}  // namespace tw::emu
