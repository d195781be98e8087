// A report with made-up counters in the shape of a profile: what the HTML tests render. Everything
// that the model computes is computed; names and source try to break the page.
#pragma once

#include <string>

#include "model/bank_map.h"
#include "report/html_report.h"

namespace tw::report {

inline KernelReport canned_kernel(const model::DeviceSpec& device, const std::string& name,
                                  double flops, double dram_bytes, double wavefronts,
                                  uint32_t pad) {
  KernelReport k;
  k.name = name;
  k.grid = "64 x 64 x 1";
  k.block = "16 x 16 x 1";
  k.launches = 3;
  k.sectors = 262144, k.ideal_sectors = 131072;
  k.wavefronts = wavefronts, k.ideal_wavefronts = wavefronts / 2;
  model::KernelWork work;
  work.fp32_instructions = flops / 2;
  work.warp_instructions = flops / 2 / 32 * 2.5;
  work.dram_bytes = dram_bytes;
  work.l1_wavefronts = dram_bytes * 4 / 128;
  work.shared_wavefronts = wavefronts;
  k.resources = {256, 40, 2048};
  k.occupancy = model::occupancy(device, k.resources);
  k.prediction =
      model::predict(device, model::Basis::kDatasheet, work, {4096, k.occupancy.blocks_per_sm});
  k.seconds = k.prediction.seconds;
  k.tflops = flops / k.seconds * 1e-12;
  k.verdict = "Bound by " + k.prediction.bound + ".";
  k.intensities = {{"DRAM", flops / dram_bytes},
                   {"L1", flops / (work.l1_wavefronts * 128)},
                   {"shared", flops / (wavefronts * 128)}};
  k.by_threads = model::vary_threads(device, k.resources);
  k.by_registers = model::vary_registers(device, k.resources);
  k.by_shared = model::vary_shared(device, k.resources);
  k.metrics = {{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "FFMA thread instructions",
                flops / 2, "", false},
               {"dram__bytes_read.sum", "DRAM bytes read", dram_bytes, "B", true}};
  SourceFile file{"tiled.cu", {}};
  for (uint32_t i = 1; i <= 12; ++i) {
    SourceLine line;
    line.number = 30 + i;
    line.text = i == 5 ? "  acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];  // </script><b>&"
                       : "  // line";
    line.instructions = i == 5 ? flops / 2 : flops / 200 * i;
    line.active_lanes = i == 7 ? 16.5 : 32;
    if (i == 3) line.sectors = 262144, line.ideal_sectors = 131072;
    if (i == 5) line.wavefronts = wavefronts, line.ideal_wavefronts = wavefronts / 2;
    file.lines.push_back(line);
  }
  k.sources.push_back(file);
  model::SharedArray tile;
  tile.pad = pad;
  const model::BankMap map =
      model::map_banks(tile, model::Walk::kColumn, 0, shadow::SharedAccess::kLoad);
  BankAccess access{
      "tiled.cu:35, load of 4 bytes", {}, map.count.wavefronts, map.count.groups, false};
  for (uint32_t lane = 0; lane < 32; ++lane)
    access.lanes.push_back({lane, map.lanes[lane].address / 4});
  k.bank_accesses.push_back(access);
  return k;
}

inline ProfileReport canned_report() {
  const model::DeviceSpec device = *model::load_device_spec("h200");
  ProfileReport r;
  r.title = "tiled <gemm> & \"friends\"";
  r.device = device.name;
  r.command_line = "tilewright profile tiled.cu -- 1024 </title><script>alert(1)</script>";
  r.version = "test";
  r.verdict = "gemm_tiled<16> is bound by shared memory.";
  r.levels = model::memory_roofs(device, model::Basis::kDatasheet);
  r.pipes = model::pipe_roofs(device, model::Basis::kDatasheet);
  r.kernels.push_back(
      canned_kernel(device, "gemm_tiled<16>(float const*, float*)", 2.147e9, 5.4e8, 5e7, 1));
  r.kernels.push_back(canned_kernel(device, "gemm_naive", 2.147e9, 8.59e9, 1e6, 1));
  r.kernels.push_back(canned_kernel(device, "transpose_tiled\xff<0>", 1e7, 1.3e8, 2e7, 0));
  r.kernels[2].findings.push_back({"warning", "race-shared", "tiled.cu:31",
                                   "Two lanes write <tile> without a barrier.",
                                   "Put a barrier between them."});
  return r;
}

}  // namespace tw::report
