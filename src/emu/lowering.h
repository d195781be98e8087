// The pass that turns PTX instructions into IR (phase "lower" of ir.h), one object a kernel.
//   lower.cpp          layout, operands, bodies
//   lower_lane.cpp     lane rows, packing and unpacking of vectors
//   lower_memory.cpp   loads and stores
//   lower_machine.cpp  control flow, barriers, warp operations
//   lower_matrix.cpp   ldmatrix, mma, wmma
//   lower_warpgroup.cpp   wgmma
//   lower_async.cpp    cp.async
//   lower_bulk.cpp     cp.async.bulk
//   lower_call.cpp     calls
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emu/ir.h"
#include "emu/machine_handlers.h"

namespace tw::emu {

using isa::Field;
using isa::Machine;
using ptx::Operand;
using ptx::Type;
using OperandKind = ptx::Operand::Kind;

inline constexpr uint32_t kMaxInlineDepth = 32;
inline constexpr size_t kMaxInstructions = 4'000'000;
// PTX instructions of a kernel with all that it calls, and of a function worth inlining when that
// is too much.
inline constexpr uint64_t kMaxInlined = 100'000, kMaxSmallFunction = 500;

inline uint8_t register_bytes(Type type) {
  if (type == Type::pred) return 0;
  uint32_t bytes = ptx::type_bytes(type);
  return bytes < 2 ? 2 : bytes > 8 ? 8 : uint8_t(bytes);
}

inline Type unsigned_type(uint8_t bytes) {
  return bytes == 8 ? Type::u64 : bytes == 4 ? Type::u32 : Type::u16;
}
inline Type signed_type(uint8_t bytes) {
  return bytes == 8 ? Type::s64 : bytes == 4 ? Type::s32 : Type::s16;
}
inline Type bits_type(uint8_t bytes) {
  return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : Type::b16;
}

inline bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}

inline uint64_t round_up(uint64_t value, uint64_t to) {
  return to <= 1 ? value : (value + to - 1) / to * to;
}

// A function that is not inlined, lowered once (lower_call.cpp). Offsets are in its frame, which
// begins with the number of the call site to return to.
struct Subroutine {
  const ptx::Function* function = nullptr;
  uint32_t entry = 0, exit = 0;  // labels
  std::vector<uint64_t> parameters, returns;
  uint64_t frame_bytes = 4;  // grows while the body is lowered
  struct SizeUse {
    uint32_t ir = 0;  // its s[1] still lacks the frame's size
    bool down = false;
  };
  std::vector<SizeUse> size_uses;
  std::vector<uint32_t> call_sites;  // labels to return to, by number
};

// One function being lowered: the kernel, or a device function at one call.
struct Instance {
  const ptx::Function* function = nullptr;
  Instance* caller = nullptr;    // it is inlined there
  uint32_t call_site = kNoSite;  // the call in the caller
  Subroutine* frame = nullptr;   // its variables lie in this subroutine's frame
  uint32_t depth = 0;
  std::vector<uint32_t> registers;  // PTX register -> IR register; .b128: its lower half
  std::unordered_map<uint32_t, uint32_t> upper_halves;
  std::vector<uint64_t> variables;  // function variable -> shared or local offset
  std::vector<uint32_t> labels;     // PTX label -> label id
  std::vector<uint64_t> parameters,
      returns;  // device function: local offsets of the caller's .param variables
  uint32_t return_label = 0;
};

class Lowering {
 public:
  explicit Lowering(Decoding& d) : d_(d) {}

  Status run();

 private:
  Error error_at(const ptx::Instruction& in, std::string message) const {
    return Error{std::move(message), d_.module.name, in.line, in.column};
  }

  // ---- layout ----

  void lay_out_parameters();
  // Shared variables of the module and of the kernel, then the dynamic part.
  Status lay_out_shared();
  void lay_out_locals(Instance& f);
  // ---- small pieces ----

  Ir& append(IrKind kind) {
    Ir ir;
    ir.kind = kind;
    ir.site = site_;
    d_.code.push_back(ir);
    return d_.code.back();
  }

  static Source constant(uint64_t value) { return Source{true, value, kNoReg}; }
  static Source reg(uint32_t r) { return Source{false, 0, r}; }

  uint32_t lane_op(isa::RowId row, Type type, Type type2, std::initializer_list<Source> sources,
                   isa::Mods mods = {}, uint32_t destination = kNoReg);
  // `source` (a register of `from` bytes) as a value of `to` bytes.
  Source resize(Source source, uint8_t from, uint8_t to, bool sign_extend, bool saturate = false);
  uint32_t ir_register(Instance& f, uint32_t ptx_register);
  uint32_t fixed_scalar(uint32_t slot, uint8_t bytes);
  uint32_t lane_init(LaneInit what, Shape shape);
  // The static shape of %tid.x/y/z for the block shape.
  Shape tid_shape(int axis) const;
  // A special register as a 32-bit (or 64-bit) source; `bytes` is what it has.
  Result<Source> special(const ptx::Instruction& in, const std::string& name, uint8_t& bytes);
  uint32_t slot_register(UniformSlot slot);
  // Address of a symbol in the space it lives in; generic space for global and constant variables.
  Result<Source> symbol_address(Instance& f, const ptx::Instruction& in, const Operand& o,
                                ptx::Space* space = nullptr);
  // Any operand as a source of `bytes`. `type` decides how literals are read and registers widened.
  Result<Source> source(Instance& f, const ptx::Instruction& in, const Operand& o, uint8_t bytes,
                        Type type);
  // Where a result of `bytes` goes: the register itself, or a temporary to be widened afterwards.
  struct Destination {
    uint32_t reg = kNoReg;      // written by the instruction
    uint32_t widened = kNoReg;  // then extended into this one
    bool sign_extend = false;
  };
  Result<Destination> destination(Instance& f, const ptx::Instruction& in, const Operand& o,
                                  uint8_t bytes, bool sign_extend);
  void finish(const Destination& out);
  // ---- bodies ----

  Error at_source(Error error) const;
  Status body(Instance& f);
  Status instruction(Instance& f, const ptx::Instruction& in);
  // Spellings repeat; a kernel has a few dozen different ones.
  Result<isa::Match> find_match(const ptx::Instruction& in);
  Status lane_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // Carry chains: CC.CF is a predicate register (lower_lane.cpp).
  uint32_t condition_code();
  void carry_out(const isa::Match& match, Source last, uint32_t result);
  // mov.b64 {lo, hi}, x
  Status unpack(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // mov.b64 x, {lo, hi}
  Status pack(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // An instruction by its spelling, in terms of which others are put (lower_video.cpp).
  Source apply(std::string_view spelling, std::initializer_list<Source> sources,
               uint32_t destination = kNoReg);
  Source clamped(Source value, uint64_t least, uint64_t most);
  Source saturated_video(Source value, const isa::Match& match, Machine machine, uint32_t bits);
  Source video_product(const ptx::Instruction& in, const isa::Match& match, Source a, Source b,
                       Source c);
  Status scalar_video(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                      Machine machine);
  Status simd_video(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                    const LaneEntry& entry, const Source* sources);
  Status lop3_test(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status machine_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                             Machine machine);
  Status barrier(const std::vector<Source>& sources);
  Status barrier_arrive(Instance& f, const ptx::Instruction& in);
  Status barrier_reduce(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // `result`: a register for the old value where no operand names one.
  Status atomic(Instance& f, const ptx::Instruction& in, const isa::Match& match, bool with_result,
                uint32_t result = kNoReg);
  Status vector_atomic(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                       bool with_result);
  Status create_policy(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                       Machine machine);
  Status move_vector(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // .b128 registers are two of 64 bits, which only mov, ld, st and atom take together.
  Status move_wide(Instance& f, const ptx::Instruction& in);
  bool is_wide(const Instance& f, const Operand& o) const {
    return o.kind == OperandKind::reg && f.function->registers[o.reg].type == Type::b128;
  }
  std::array<uint32_t, 2> halves(Instance& f, uint32_t ptx_register);
  // Warp operations: `kinds` gives each operand's kind: d 32-bit destination, p predicate
  // destination, a 32-bit, A value of `.type`, b predicate source, m member mask (32-bit).
  Status warp_operation(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                        Builtin which, std::string_view kinds);
  Status mbarrier(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                  Machine machine);
  Status branch_indexed(Instance& f, const ptx::Instruction& in);
  // ---- matrices (lower_matrix.cpp) ----

  Status load_matrices(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status store_matrices(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status move_matrix(Instance& f, const ptx::Instruction& in);
  Status multiply(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                  Machine machine);
  Status wmma_load(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                   Machine machine);
  Status wmma_store(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status wmma_multiply(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                       Machine machine);
  // ---- wgmma (lower_warpgroup.cpp) ----

  Status warpgroup_multiply(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                            Machine machine);
  Status warpgroup_group(const ptx::Instruction& in, bool waits);
  struct SharedFactor;
  // ---- bulk copies (lower_bulk.cpp) ----

  Status bulk_copy(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                   Machine machine);
  // ---- clusters (lower_cluster.cpp) ----

  bool clustered() const { return d_.program->cluster_ctas() > 1; }
  // %clusterid, %cluster_ctaid and the like; nullopt: another one.
  std::optional<Source> cluster_register(const std::string& name);
  Source cluster_rank();
  // A 32-bit address in shared memory as a generic one.
  Source window_address(Source address);
  Source with_rank(Source address, Source rank);
  Source mapped(Source address, Source rank);
  Source rank_of(Source address);
  void convert_shared(Source from, bool to_space, uint32_t destination);
  Status is_own_shared(Instance& f, const ptx::Instruction& in);
  void complete_transaction(Source barrier, Source bytes);
  Status async_store(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                     bool reduces);
  Status map_address(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status rank_of_address(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  Status nothing_to_order(const ptx::Instruction& in, bool waits);
  Result<Source> shared_operand(Instance& f, const ptx::Instruction& in, const Operand& o);
  // ---- matrices of both kinds ----

  // The registers of a vector operand; an error unless there are `count`.
  Result<std::vector<Source>> fragment(Instance& f, const ptx::Instruction& in, size_t operand,
                                       size_t count, uint8_t bytes);
  Result<std::vector<Destination>> fragment_out(Instance& f, const ptx::Instruction& in,
                                                size_t operand, size_t count, uint8_t bytes);
  struct MatrixPlace;
  struct MatrixLines;
  Result<MatrixPlace> matrix_place(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                                   size_t address, size_t stride);
  uint32_t lane_below(const ptx::Instruction& in, uint32_t lanes);
  void matrix_op(Builtin which, isa::Mods mods, Type type, Type type2,
                 const std::vector<Source>& sources, const std::vector<uint32_t>& destinations);
  Status async_copy(Instance& f, const ptx::Instruction& in, bool sixteen_only);
  Status async_group(const ptx::Instruction& in, Machine machine);
  Status bulk_group(const ptx::Instruction& in, bool waits);
  Status proxy_fence(const ptx::Instruction& in, const isa::Match& match);
  Status event(const ptx::Instruction& in, Builtin which, uint64_t keep);
  void append_async(Builtin which, uint64_t keep);
  Status async_arrive(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // Functions that the CUDA device runtime provides: vprintf, __assertfail, malloc, free.
  bool is_system_call(const std::string& name) const;
  Status system_call(Instance& f, const ptx::Instruction& in, const std::string& name,
                     const Operand* returns, const Operand* arguments);
  Status call_pointer(Instance& f, const ptx::Instruction& in, const Operand& callee,
                      const Operand* returns, const Operand* arguments);
  Status call_function(Instance& f, const ptx::Instruction& in, const ptx::Function& target,
                       const Operand* returns, const Operand* arguments);
  Result<uint64_t> local_argument(Instance& f, const ptx::Instruction& in, const Operand& o);
  std::vector<uint32_t> address_taken() const;  // functions whose address the module uses
  Status builtin(const ptx::Instruction& in, Builtin which, std::initializer_list<Source> sources,
                 isa::Mods mods = {});
  // A guard on an instruction that cannot be masked: a branch around it.
  template <class F> Status guarded(const ptx::Instruction&, F make) {
    uint32_t around = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
    guard_negated_ = !guard_negated_;
    branch(around);
    guard_ = kNoReg;
    Status s = make();
    d_.labels[around] = uint32_t(d_.code.size());
    return s;
  }

  void branch(uint32_t label);
  Status convert_address(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                         bool to_space);
  // ---- memory ----

  static Element element_of(Type type) {
    switch (ptx::type_bytes(type)) {
      case 1: return type == Type::s8 ? Element::s8 : Element::u8;
      case 2: return Element::b16;
      case 4: return Element::b32;
      default: return Element::b64;
    }
  }

  struct Place {
    AccessSpace space = AccessSpace::global;
    Source address;
    int64_t offset = 0;
    bool kernel_parameter = false;  // address.value is an offset into the parameters
  };

  Result<Place> place(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                      const Operand& o);
  static std::vector<Operand> elements_of(const Operand& o) {
    return o.kind == OperandKind::vector ? o.elements : std::vector<Operand>{o};
  }

  Status load(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // Kernel parameters lie in the uniform area: a load is a move from there.
  Status load_parameter(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                        const Place& p, const std::vector<Destination>& to, uint8_t slot_bytes);
  Status store(Instance& f, const ptx::Instruction& in, const isa::Match& match);
  // ---- calls ----

  Status call(Instance& f, const ptx::Instruction& in);
  struct LocalPlace {
    Source base;
    int64_t offset = 0;
  };
  std::unordered_set<const ptx::Function*> subroutine_functions() const;
  const std::vector<std::vector<bool>>& live_after(const ptx::Function& function);
  LocalPlace local_place(const Instance& f, uint64_t offset) const;
  uint32_t load_local(const LocalPlace& from, uint8_t bytes);
  void store_local(const LocalPlace& to, Source value, uint8_t bytes);
  void copy_local(LocalPlace from, LocalPlace to, uint64_t bytes, uint64_t alignment);
  uint32_t beyond_frame(Subroutine& frame, bool down, int64_t more, uint32_t destination = kNoReg);
  Subroutine& subroutine(const ptx::Function& function);
  Status call_subroutine(Instance& f, const ptx::Instruction& in, const ptx::Function& target,
                         const Operand* returns, const Operand* arguments);
  Status lower_subroutines();
  Decoding& d_;
  uint32_t site_ = 0;
  uint32_t guard_ = kNoReg;
  bool guard_negated_ = false;
  uint32_t uniform_end_ = 0;
  uint32_t parameter_address_ = kNoReg;
  std::vector<uint32_t> parameter_offsets_;
  std::vector<uint64_t> module_shared_, kernel_shared_;
  std::unordered_map<const ptx::Variable*, uint64_t> function_shared_;
  uint64_t shared_bytes_ = 0, dynamic_shared_ = 0, local_bytes_ = 0;
  uint64_t reserved_shared_ = 0;  // at the beginning of shared memory, for the system
  std::array<uint32_t, kFirstFree> slot_registers_ = [] {
    std::array<uint32_t, kFirstFree> a;
    a.fill(kNoReg);
    return a;
  }();
  std::vector<uint32_t> lane_init_registers_;
  std::unordered_map<std::string, isa::Match> matches_;
  std::string spelling_;
  uint32_t condition_code_ = kNoReg;
  std::unordered_set<const ptx::Function*> uninlined_;
  std::deque<Subroutine> subroutines_;
  uint32_t stack_pointer_ = kNoReg;  // local address of the frame; where uninlined_ is not empty
  std::unordered_map<const ptx::Function*, std::vector<std::vector<bool>>> live_after_;

 public:
  const std::vector<uint32_t>& lane_init_registers() const { return lane_init_registers_; }
};

}  // namespace tw::emu
