// What ptxas made of each PTX instruction, read from the cubin it wrote.
//
// Problem: counters taken while PTX runs do not equal Nsight Compute's for shared memory, because
// ptxas joins neighbouring accesses: four `ld.shared.f32` become one LDS.128. Choice: ask ptxas.
// With -lineinfo its cubin holds, beside the code, a line table from machine instructions to lines
// of the PTX text (.nv_debug_line_sass) and that text (.nv_debug_ptx_txt). A shared access names
// its width in the instruction word. So each PTX instruction gets the machine instructions that
// stand for it; one that has none was joined to a neighbour or removed. Alternatives: nvdisasm's
// output (not everywhere installed, and text); widths by source line only (cannot tell which of
// several accesses on a line were joined). Limits: 64-bit little-endian cubins with 16-byte
// instructions (compute capability 7.0 and later). The opcodes and the width field were read off
// cubins of compute capability 9.0. A loop that ptxas unrolls gives a PTX instruction several
// machine instructions: how often each ran is not known.
//
// Tested by tests/unit/sass/cubin_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/result.h"

namespace tw::sass {

// LDS or STS.
struct SharedAccess {
  bool store = false;
  uint32_t width = 4;        // bytes a lane
  uint32_t instruction = 0;  // index into ptx::Function::instructions
};

// What Nsight Compute's op counters tell apart: smsp__sass_thread_inst_executed_op_ffma_pred_on.
inline constexpr std::array<const char*, 9> kFloatOps = {"ffma", "fadd", "fmul", "dfma", "dadd",
                                                         "dmul", "hfma", "hadd", "hmul"};

// The floating-point machine instructions that stand for one PTX instruction, by kFloatOps; without
// those of subroutines, which are there for denormals and such. ptxas makes an FFMA of a multiply
// and an add, an FADD of a doubling, a dozen of a division.
struct FloatCode {
  std::array<uint32_t, 9> operations{};
  uint32_t special = 0;      // MUFU: one for each execution of a quotient, root, sine
  bool conditional = false;  // there are more, which run for some operands only
};

struct KernelCode {
  std::string name;                   // mangled
  std::vector<uint32_t> sass_of_ptx;  // machine instructions of each PTX instruction
  uint32_t instructions = 0;          // machine instructions in all, without padding
  std::vector<FloatCode> floats;      // of each PTX instruction
  std::vector<SharedAccess> shared;   // in the order of their addresses
  // PTX atomics that became ATOMS.POPC.INC: lanes with one word are added up before it is written.
  std::vector<uint32_t> counted_increments;
};

// One entry for each kernel whose code can be traced to its PTX. Hostile bytes give an Error.
Result<std::vector<KernelCode>> read_cubin(std::span<const uint8_t> image, const std::string& name);

}  // namespace tw::sass
