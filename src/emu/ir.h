// The decoder's intermediate form: instructions matched to rows, operands resolved to registers and
// constants, device functions inlined, one basic-block list. Lives only while a kernel is decoded.
//
// Phases (emit.cpp, decode), each with what holds after it:
// - lower: every PTX instruction has become IR or an error; operand sizes fit the handlers
// - simplify: no copies of single-definition registers, no instruction on constants alone
// - flow: blocks, successors, immediate post-dominators
// - analyse: every register is known uniform, affine over half-warps, or neither. Such a
//   fact holds when all 32 lanes take part; analyse.cpp says what writes under part of the mask do
//   to it
// - allocate: every live register has a slot
// - emit: Ops for both masks
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/machine_handlers.h"
#include "emu/program.h"
#include "isa/table.h"

namespace tw::emu {

inline constexpr uint32_t kNoReg = 0xffffffff;

// What is known of a register's lanes, valid whenever it is read under a full mask.
struct Shape {
  enum Kind : uint8_t {
    unknown,
    uniform,
    affine,
    varying
  } kind = unknown;    // ordered: a join goes up
  bool whole = false;  // affine: over 32 lanes, otherwise over each half-warp
  int64_t stride = 0;  // affine: difference between neighbouring lanes
  bool operator==(const Shape&) const = default;
};

struct IrRegister {
  uint8_t bytes = 4;         // element: 0 predicate, 2, 4, 8
  bool fixed_slot = false;   // special registers and parameters: slot given, never written
  bool scalar_slot = false;  // the slot is in the uniform area
  uint32_t slot = kNoReg;
  bool temporary = false;  // no other path of the warp can see it (allocate)
  uint32_t definitions = 0;
  Shape shape;
  // Known constant or copy (simplify).
  bool constant = false;
  uint64_t value = 0;
  uint32_t copy_of = kNoReg;
};

struct Source {
  bool constant = false;
  uint64_t value = 0;
  uint32_t reg = kNoReg;
};

enum class IrKind : uint8_t {
  lane,
  load,
  store,
  branch,
  exit,
  barrier,
  nop,
  machine,  // other machine rows: handler found by emit (machine_handlers.h)
};

struct Ir {
  IrKind kind = IrKind::nop;
  uint8_t destinations = 0, sources = 0;
  bool guard_negated = false;
  bool dead = false;
  bool unobserved = false;  // a load that is no access of the program: it copies an argument,
                            // padding and what was never written included
  bool async = false;       // of cp.async: its store, loads of bytes but the first, arrival; of
                            // bulk copies: the transaction; loads of wgmma
  bool bulk = false;        // st.async: its store ends with its mbarrier, as bulk copies do
  uint8_t copy_bytes = 0;   // loads of cp.async: the bytes of a copy
  // A load whose value nobody uses, but to put some of its bits back where they were (find_copies).
  bool unused = false;
  uint32_t d[4] = {kNoReg, kNoReg, kNoReg, kNoReg};
  Source s[kMostSources];
  uint32_t guard = kNoReg;
  isa::RowId row = 0;
  isa::Mods mods;
  const LaneEntry* entry = nullptr;  // lane
  // load, store: s[0] is the address; a store's values follow
  AccessSpace space = AccessSpace::global;
  Element element = Element::b32;
  uint8_t elements = 1;
  int64_t offset = 0;
  uint32_t target = 0;  // branch: label id while lowering, block afterwards
  uint32_t site = 0;
  int32_t builtin = -1;               // machine: see machine_handlers.h
  isa::Type type = isa::Type::none;   // machine
  isa::Type type2 = isa::Type::none;  // matrix_multiply: of C
};

struct IrBlock {
  uint32_t begin = 0, end = 0;  // [begin, end) in Decoding::code
  std::vector<uint32_t> successors, predecessors;
  uint32_t post_dominator = kNoBlock;  // kNoBlock: the kernel's end
  bool divergent = false;  // may run with part of the lanes that reach the kernel's start
  bool join = false;       // some divergent branch meets again here
  bool acts = false;       // see Block::acts
};

struct Decoding {
  const ptx::Module& module;
  const ptx::Function& function;
  const SymbolAddresses& symbols;
  const DecodeOptions& options;
  const Target& target;
  std::unique_ptr<Program> program;
  std::vector<IrRegister> registers;
  std::vector<Ir> code;
  std::vector<uint32_t> labels;  // label id -> instruction index
  std::vector<IrBlock> blocks;
  uint32_t special[16];                       // cached special registers (lower)
  std::vector<uint32_t> lane_init_registers;  // registers of Program::lane_inits, in order
  // By instruction and element of a load or store: index into Program::copied, or kNoCopy.
  std::vector<std::array<uint32_t, 4>> copied;

  uint32_t new_register(uint8_t bytes) {
    IrRegister r;
    r.bytes = bytes;
    registers.push_back(r);
    return uint32_t(registers.size() - 1);
  }
};

// Handlers of the row at the entry, or nullptr if the row lacks the types.
const LaneEntry* find_entry(const Target& target, isa::RowId row, isa::Type type, isa::Type type2);

Status lower(Decoding& d);
void simplify(Decoding& d);
void build_flow(Decoding& d);
void analyse(Decoding& d);
void allocate(Decoding& d);
void find_copies(Decoding& d);
Status emit(Decoding& d);

}  // namespace tw::emu
