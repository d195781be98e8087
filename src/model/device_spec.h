// What a GPU is: the limits and rates that the engine, the CUDA runtime and the model need. One
// data file per GPU (devices/*.json), every number with its source. What all GPUs of one compute
// capability share lies in devices/compute-X.Y.json, which a GPU's file extends: one fact, one
// line. No engine types here: src/emu uses this header, not the other way round.
//
// Datasheet figures and measured ceilings are kept apart: the fields below are the datasheet's, and
// `measured` holds what the best known program reached on the real chip (0: nobody measured it).
//
// Tested by tests/unit/model/device_spec_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace tw::model {

// Figures in GB/s (10^9 bytes) and TFLOP/s; 0 where not known.
struct Ceilings {
  double dram_gb_per_s = 0, l2_gb_per_s = 0, l1_gb_per_s = 0, shared_gb_per_s = 0;
  double fp32_tflops = 0, fp64_tflops = 0;
  double tf32_tflops = 0, fp16_tflops = 0, bf16_tflops = 0, fp8_tflops = 0;
};

// One line of a device file, kept so that a reader can be shown where a number comes from.
struct SourcedNumber {
  std::string section, key;  // "datasheet", "dram_gb_per_s"
  double value = 0;
  std::string source;
  std::string file;  // the device file that states it
  uint32_t line = 0;
};

struct DeviceSpec {
  std::string id;    // "h200": the word given to --gpu
  std::string name;  // "NVIDIA H200": cudaDeviceProp::name
  uint32_t compute_major = 9, compute_minor = 0;
  uint32_t sm_count = 0;
  uint32_t max_threads_per_block = 1024;
  uint32_t max_block_dim[3] = {1024, 1024, 64};
  uint32_t max_grid_dim[3] = {2147483647, 65535, 65535};
  uint32_t max_threads_per_sm = 0, max_warps_per_sm = 0, max_blocks_per_sm = 0;
  uint32_t registers_per_sm = 0, registers_per_block = 0, max_registers_per_thread = 255;
  uint32_t register_allocation_unit = 256;   // registers, per warp
  uint32_t warp_allocation_granularity = 4;  // warps; also the number of SM sub-partitions
  uint32_t barriers_per_sm =
      0;  // named barriers shared by the resident blocks; 0: the runtime sets no limit
  uint64_t shared_per_sm = 0;     // bytes, including what the system reserves
  uint64_t shared_per_block = 0;  // without opting in (48 KiB)
  uint64_t shared_per_block_optin = 0;
  uint64_t shared_reserved_per_block =
      0;  // taken by the system from shared_per_sm for each resident block
  uint64_t shared_allocation_unit = 128;  // bytes
  uint32_t shared_banks = 32;
  uint64_t constant_bytes = 65536;
  uint64_t l1_bytes = 0;  // L1 and shared memory together, per SM
  uint64_t l2_bytes = 0, l2_line_bytes = 128;
  uint64_t memory_bytes = 0;
  uint32_t memory_bus_bits = 0;
  double clock_mhz = 0;                     // boost SM clock
  double memory_clock_mhz = 0;              // half of the data rate per pin
  double dram_gb_per_s = 0;                 // datasheet
  double l2_gb_per_s = 0;                   // datasheet; 0: the vendor does not state it
  double fp32_tflops = 0, fp64_tflops = 0;  // datasheet, CUDA cores
  double tf32_tflops = 0, fp16_tflops = 0, bf16_tflops = 0,
         fp8_tflops = 0;          // datasheet, dense tensor cores
  uint32_t max_cluster_size = 0;  // 0: no clusters
  uint32_t copy_engines = 0;      // 0: not known

  // Per SM and clock: warp instructions issued, results of each pipe (an FMA is one), bytes moved.
  uint32_t schedulers_per_sm = 4;
  uint32_t fp16_per_clock = 0, fp32_per_clock = 0, fp64_per_clock = 0, int32_per_clock = 0,
           sfu_per_clock = 0;
  uint32_t shared_bytes_per_clock = 0, l1_bytes_per_clock = 0;

  Ceilings measured;
  std::vector<SourcedNumber>
      sources;  // every number above, in file order, the extended file's first
};

// The device files are compiled in (CMake embeds devices/*.json). `name_or_path`: an id ("h200"),
// or the path of a device file (anything with a '/' or ending in ".json"). The error lists the ids
// there are.
Result<DeviceSpec> load_device_spec(std::string_view name_or_path);
// Parses the text of a device file; hostile input gives an Error with file and line. The file may
// extend one of the embedded compute-X.Y files, nothing else.
Result<DeviceSpec> parse_device_spec(std::string_view json_text, std::string file);
// The ids of the embedded GPUs, sorted.
std::vector<std::string> device_ids();

}  // namespace tw::model
