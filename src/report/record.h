// What a profiled program hands to the `tilewright` command: lines of JSON, one a record, appended
// to a file while the program runs, so that nothing is lost if it is killed.
//
//   {"ptx": {"id", "text"}}      a module, once
//   {"program": {...}}           a kernel decoded for one block shape and its instructions, once
//   {"launch": {...}}            the counts of one launch
//
// Numbers here are those of PTX as it ran; what ptxas does to shared accesses is applied by
// profile_build.cpp. Hence the counts at three widths: a request as written, and as if it were
// joined with its neighbours to two and four times the width.
//
// Tested by tests/unit/report/record_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace tw::report {

enum class Traffic : uint8_t {
  none,
  global_load,
  global_store,
  shared_load,
  shared_store,
  local_load,
  local_store,
  atomic,
  shared_atomic
};

// One PTX instruction of a kernel (device functions inlined).
struct SiteInfo {
  std::string function;      // mangled; the kernel's or a device function's
  uint32_t instruction = 0;  // index into ptx::Function::instructions
  std::string text;          // "ld.global.f32 %f1, [%rd4];"
  std::string file;          // user's source
  uint32_t line = 0;         // 0: unknown
  std::string category, pipe;
  std::string op;      // the word of Nsight Compute's op counters: "ffma", "dadd", ...; of tensor
                       // cores its path: "src_bf16_dst_fp32"; or empty
  uint32_t flops = 0;  // a lane
  Traffic traffic = Traffic::none;
  uint32_t width = 0;    // bytes a lane
  bool barrier = false;  // of a CTA
  bool operator==(const SiteInfo&) const = default;
};

struct SiteCounts {
  uint64_t warps = 0, lanes = 0;            // executions
  uint64_t requests = 0, access_lanes = 0;  // accesses with a lane that takes part
  uint64_t sectors = 0, ideal_sectors = 0;  // global, local
  uint64_t l2_sectors = 0;                  // of those, what the L1 model lets through
  uint64_t lines = 0;                       // distinct 128-byte lines of each request
  std::array<uint64_t, 3> wavefronts{},
      groups{};               // shared; at 1, 2, 4 times the width (0: too wide). Shared atomics:
                              // each lane by itself, lanes with one word added up. Others: [0]
  uint32_t address_bits = 0;  // OR of all addresses, modulo 16: their alignment
  bool operator==(const SiteCounts&) const = default;
};

// The worst request of a shared-memory site, for the bank map.
struct BankExample {
  uint32_t site = 0, mask = 0, wavefronts = 0, groups = 0;
  std::array<uint32_t, 32> address{};
  bool operator==(const BankExample&) const = default;
};

struct ProgramRecord {
  uint64_t id = 0;
  uint64_t ptx = 0;     // id of the module
  std::string kernel;   // mangled
  uint32_t device = 0;  // the program's number of the GPU it ran on
  std::array<uint32_t, 3> block{};
  uint64_t static_shared_bytes = 0, local_bytes = 0;
  uint32_t registers = 0;  // estimate from PTX
  std::vector<SiteInfo> sites;
  bool operator==(const ProgramRecord&) const = default;
};

struct LaunchRecord {
  uint64_t program = 0;
  uint64_t id = 0;
  std::array<uint32_t, 3> grid{};
  uint64_t dynamic_shared_bytes = 0;
  bool faulted = false;
  std::vector<SiteCounts> sites;  // by ProgramRecord::sites
  std::vector<BankExample> examples;
  uint64_t read_sectors = 0, written_sectors = 0;            // distinct, of global memory
  uint64_t l2_read_sectors = 0, l2_written_sectors = 0;      // after the L1 model
  uint64_t dram_read_sectors = 0, dram_written_sectors = 0;  // after the L2 model
  bool operator==(const LaunchRecord&) const = default;
};

struct ModuleRecord {
  uint64_t id = 0;  // unique over the processes that write to one file
  std::string text;
  bool operator==(const ModuleRecord&) const = default;
};

struct Records {
  std::vector<ModuleRecord> modules;
  std::vector<ProgramRecord> programs;
  std::vector<LaunchRecord> launches;
};

std::string to_line(const ModuleRecord& record);  // with the newline
std::string to_line(const ProgramRecord& record);
std::string to_line(const LaunchRecord& record);
// A last line without its newline (the program was killed) is left out; anything else that is
// damaged is an Error with its line.
Result<Records> read_records(std::string_view text, const std::string& name);

}  // namespace tw::report
