// Roofline, speed of light, waves and predicted time: what bounds a kernel, and how far it is from
// the bound. Plain structs in, plain results out; the profiler and the command share it.
//
// Roofline after Williams, Waterman and Patterson (CACM 52(4), 2009), one roof per memory level as
// in Yang, Kurth and Williams (Concurrency Computat. Pract. Exper. 32(20), 2020):
//   attainable FLOP/s = min(peak of the pipe, intensity at the level x bandwidth of the level)
//   ridge point of a pipe and a level = peak / bandwidth, FLOP per byte
// Speed of light of a unit = time the unit needs at its full rate / time of the kernel.
// Predicted time = the largest of those unit times; the unit is the bound.
//
// Units that each SM has for itself (pipes, issue slots, L1, shared memory) are charged on the SM
// that gets most blocks, ceil(blocks / SMs); DRAM and L2 are shared by all.
//
// L1 and shared memory are one pipe: each clock it serves one wavefront. Those of a global request
// follow the rule of shared-memory banks, its lines laid over the banks, with four lines a clock at
// most. L2 takes so many lines of stores a second, however
// few of their bytes are written: that bounds scattered stores.
//
// Not modelled: latency that the resident warps do not hide, the ramp at the start and the end of a
// kernel, and clocks below the boost clock. The prediction is therefore a lower bound on the time.
// What a launch costs by itself is kept apart (launch_seconds), as it adds to the time.
//
// Tested by tests/unit/model/roofline_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/device_spec.h"

namespace tw::model {

enum class Basis : uint8_t {
  kDatasheet,
  kMeasured
};  // kMeasured: where measured, else the datasheet

struct MemoryRoof {
  std::string level;  // "DRAM", "L2", "L1", "shared"
  double gb_per_s = 0;
  std::string basis;  // "datasheet", "measured", "SMs x clock x 128 B"
};

struct PipeRoof {
  std::string pipe;   // "FP32", "FP64", "FP16", "TF32 tensor", ...
  double tflops = 0;  // FMA counts 2
  std::string basis;
};

// Levels and pipes whose rate is not known are left out.
std::vector<MemoryRoof> memory_roofs(const DeviceSpec& device, Basis basis);
std::vector<PipeRoof> pipe_roofs(const DeviceSpec& device, Basis basis);

// A number of the device file's section `measured` that no field of DeviceSpec holds; 0: nobody
// measured it.
//   launch_us               microseconds between two events around an empty kernel
//   l2_write_glines_per_s   10^9 lines a second that stores touch, of at most 4 sectors each
//   {shared,l1,l2,dram}_latency   clocks of a dependent load
double measured_number(const DeviceSpec& device, std::string_view key);

// FLOP per byte at which the pipe and the level are equally long.
inline double ridge(const PipeRoof& pipe, const MemoryRoof& level) {
  return pipe.tflops * 1e3 / level.gb_per_s;
}
// TFLOP/s at `intensity` FLOP per byte of that level.
double attainable_tflops(const PipeRoof& pipe, const MemoryRoof& level, double intensity);

// What a kernel did, over all blocks. Thread instructions count active lanes; a fused multiply-add
// is one instruction and two FLOP.
struct KernelWork {
  double fp32_instructions = 0, fp64_instructions = 0,
         fp16_instructions = 0;  // fp16: results, 2 per half2
  double int32_instructions = 0, sfu_instructions = 0;
  double tf32_tensor_flops = 0, fp16_tensor_flops = 0, bf16_tensor_flops = 0, fp8_tensor_flops = 0;
  double warp_instructions = 0;  // issue slots
  double dram_bytes = 0, l2_bytes = 0;
  double l2_written_lines = 0;  // lines that stores and atomics touch, by request
  double l1_wavefronts = 0;     // of global and local requests
  double shared_wavefronts = 0;
};

// A launch on the device; blocks_per_sm from model::occupancy.
struct LaunchShape {
  uint64_t blocks = 0;
  uint32_t blocks_per_sm = 0;
};

struct Waves {
  uint64_t blocks_per_wave = 0;    // blocks_per_sm x SMs
  double waves = 0;                // blocks / blocks_per_wave
  uint64_t full_waves = 0;         // complete ones
  uint64_t tail_blocks = 0;        // in the last, partly filled wave; 0: none
  double wave_efficiency = 1;      // waves / ceil(waves): share of the block slots in use
  uint64_t busiest_sm_blocks = 0;  // ceil(blocks / SMs)
  double balance = 1;              // blocks / (SMs x busiest_sm_blocks): share of the SMs in use
};
Waves waves(const DeviceSpec& device, const LaunchShape& launch);

struct Bound {
  std::string unit;    // "DRAM", "FP32 pipe", "issue slots", ...
  double seconds = 0;  // at the unit's full rate, with the imbalance of per-SM units
  bool per_sm = false;
  double speed_of_light = 0;  // share of the predicted (or measured) time, 0..1
};

struct Prediction {
  double seconds = 0;         // the largest bound; 0: no work
  double launch_seconds = 0;  // what events around the launch show on top; 0: not measured
  std::string bound;          // its unit
  std::vector<Bound> bounds;  // longest first, only units with work and a known rate
  Waves waves;
};

// Launches that follow one another: seconds, bounds and waves are summed, shares are of the sum, and
// the bound is the unit with the largest
// sum. What L1 and shared memory, one pipe, is called goes by
// where most of its time is spent.
Prediction in_sequence(const std::vector<Prediction>& launches);

// `measured_seconds` > 0: speed of light against that time instead of the predicted one.
Prediction predict(const DeviceSpec& device, Basis basis, const KernelWork& work,
                   const LaunchShape& launch, double measured_seconds = 0);

}  // namespace tw::model
