// See roofline.h for the formulas and their sources.
#include "model/roofline.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tw::model {
namespace {

// Two names of one pipe.
constexpr const char *kL1 = "L1", *kShared = "shared memory";

// TFLOP/s or GB/s of a per-SM unit: results or bytes per clock, times SMs and the boost clock.
double whole_chip(const DeviceSpec& device, double per_sm_and_clock) {
  return per_sm_and_clock * device.sm_count * device.clock_mhz * 1e6;
}

std::string per_clock_basis(uint32_t per_clock, const char* what) {
  return "SMs x clock x " + std::to_string(per_clock) + what;
}

}  // namespace

std::vector<MemoryRoof> memory_roofs(const DeviceSpec& device, Basis basis) {
  std::vector<MemoryRoof> roofs;
  auto add = [&](const char* level, double measured, double datasheet,
                 std::string datasheet_basis) {
    if (basis == Basis::kMeasured && measured > 0)
      roofs.push_back({level, measured, "measured"});
    else if (datasheet > 0)
      roofs.push_back({level, datasheet, std::move(datasheet_basis)});
  };
  add("DRAM", device.measured.dram_gb_per_s, device.dram_gb_per_s, "datasheet");
  // L2 has no datasheet figure on most chips: a measured one is better than no roof.
  if (device.l2_gb_per_s > 0 || basis == Basis::kMeasured)
    add("L2", device.measured.l2_gb_per_s, device.l2_gb_per_s, "datasheet");
  else if (device.measured.l2_gb_per_s > 0)
    roofs.push_back({"L2", device.measured.l2_gb_per_s, "measured"});
  add("L1", device.measured.l1_gb_per_s, whole_chip(device, device.l1_bytes_per_clock) * 1e-9,
      per_clock_basis(device.l1_bytes_per_clock, " B"));
  add("shared", device.measured.shared_gb_per_s,
      whole_chip(device, device.shared_bytes_per_clock) * 1e-9,
      per_clock_basis(device.shared_bytes_per_clock, " B"));
  return roofs;
}

std::vector<PipeRoof> pipe_roofs(const DeviceSpec& device, Basis basis) {
  std::vector<PipeRoof> roofs;
  auto add = [&](const char* pipe, double measured, double datasheet) {
    if (basis == Basis::kMeasured && measured > 0)
      roofs.push_back({pipe, measured, "measured"});
    else if (datasheet > 0)
      roofs.push_back({pipe, datasheet, "datasheet"});
  };
  const Ceilings& m = device.measured;
  add("FP32", m.fp32_tflops, device.fp32_tflops);
  add("FP64", m.fp64_tflops, device.fp64_tflops);
  if (device.fp16_per_clock > 0)
    roofs.push_back({"FP16", whole_chip(device, device.fp16_per_clock) * 2e-12,
                     per_clock_basis(device.fp16_per_clock, " FMA")});
  add("TF32 tensor", m.tf32_tflops, device.tf32_tflops);
  add("FP16 tensor", m.fp16_tflops, device.fp16_tflops);
  add("BF16 tensor", m.bf16_tflops, device.bf16_tflops);
  add("FP8 tensor", m.fp8_tflops, device.fp8_tflops);
  return roofs;
}

double measured_number(const DeviceSpec& device, std::string_view key) {
  for (const SourcedNumber& s : device.sources)
    if (s.section == "measured" && s.key == key) return s.value;
  return 0;
}

double attainable_tflops(const PipeRoof& pipe, const MemoryRoof& level, double intensity) {
  return std::min(pipe.tflops, intensity * level.gb_per_s * 1e-3);
}

Waves waves(const DeviceSpec& device, const LaunchShape& launch) {
  Waves result;
  if (launch.blocks == 0 || device.sm_count == 0) return result;
  result.busiest_sm_blocks = (launch.blocks - 1) / device.sm_count + 1;
  result.balance =
      static_cast<double>(launch.blocks) /
      (static_cast<double>(device.sm_count) * static_cast<double>(result.busiest_sm_blocks));
  result.blocks_per_wave = uint64_t{launch.blocks_per_sm} * device.sm_count;
  if (result.blocks_per_wave == 0) return result;
  result.waves = static_cast<double>(launch.blocks) / static_cast<double>(result.blocks_per_wave);
  result.full_waves = launch.blocks / result.blocks_per_wave;
  result.tail_blocks = launch.blocks % result.blocks_per_wave;
  result.wave_efficiency = result.waves / std::ceil(result.waves);
  return result;
}

Prediction predict(const DeviceSpec& device, Basis basis, const KernelWork& work,
                   const LaunchShape& launch, double measured_seconds) {
  Prediction result;
  result.waves = waves(device, launch);
  // Without a launch shape, per-SM units are charged as if the work were spread evenly.
  const double balance = launch.blocks == 0 ? 1 : result.waves.balance;
  auto add = [&](std::string unit, double amount, double rate, bool per_sm) {
    if (!(amount > 0) || !(rate > 0)) return;
    result.bounds.push_back({std::move(unit), amount / rate / (per_sm ? balance : 1), per_sm, 0});
  };
  for (const MemoryRoof& roof : memory_roofs(device, basis)) {
    const double rate = roof.gb_per_s * 1e9;
    if (roof.level == "DRAM") add("DRAM", work.dram_bytes, rate, false);
    if (roof.level == "L2") add("L2", work.l2_bytes, rate, false);
    // One pipe for both, named after what takes more of it.
    if (roof.level == "L1") {
      const bool shared = work.shared_wavefronts >= work.l1_wavefronts;
      add(shared ? kShared : kL1,
          (work.shared_wavefronts + work.l1_wavefronts) * device.l1_bytes_per_clock, rate, true);
    }
  }
  if (basis == Basis::kMeasured)
    add("L2 writes", work.l2_written_lines, measured_number(device, "l2_write_glines_per_s") * 1e9,
        false);
  // Scalar pipes by instructions, at lanes per clock: a plain add takes the slot of a fused
  // multiply-add, which FLOP over peak FLOP/s would hide.
  add("FP32 pipe", work.fp32_instructions, whole_chip(device, device.fp32_per_clock), true);
  add("FP64 pipe", work.fp64_instructions, whole_chip(device, device.fp64_per_clock), true);
  add("FP16 pipe", work.fp16_instructions, whole_chip(device, device.fp16_per_clock), true);
  add("integer pipe", work.int32_instructions, whole_chip(device, device.int32_per_clock), true);
  add("special functions", work.sfu_instructions, whole_chip(device, device.sfu_per_clock), true);
  add("issue slots", work.warp_instructions, whole_chip(device, device.schedulers_per_sm), true);
  for (const PipeRoof& roof : pipe_roofs(device, basis)) {
    const double rate = roof.tflops * 1e12;
    if (roof.pipe == "TF32 tensor") add("TF32 tensor cores", work.tf32_tensor_flops, rate, true);
    if (roof.pipe == "FP16 tensor") add("FP16 tensor cores", work.fp16_tensor_flops, rate, true);
    if (roof.pipe == "BF16 tensor") add("BF16 tensor cores", work.bf16_tensor_flops, rate, true);
    if (roof.pipe == "FP8 tensor") add("FP8 tensor cores", work.fp8_tensor_flops, rate, true);
  }
  std::stable_sort(result.bounds.begin(), result.bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  if (basis == Basis::kMeasured)
    result.launch_seconds = measured_number(device, "launch_us") * 1e-6;
  if (result.bounds.empty()) return result;
  result.seconds = result.bounds.front().seconds;
  result.bound = result.bounds.front().unit;
  const double against = measured_seconds > 0 ? measured_seconds : result.seconds;
  for (Bound& bound : result.bounds) bound.speed_of_light = bound.seconds / against;
  return result;
}

Prediction in_sequence(const std::vector<Prediction>& launches) {
  Prediction sum;
  std::map<std::string, Bound> units;
  std::map<std::string, double> l1_names;
  double slots = 0;
  double balance = 0;
  for (const Prediction& p : launches) {
    sum.seconds += p.seconds, sum.launch_seconds += p.launch_seconds;
    for (const Bound& b : p.bounds) {
      const bool l1 = b.unit == kL1 || b.unit == kShared;
      if (l1) l1_names[b.unit] += b.seconds;
      Bound& unit =
          units.try_emplace(l1 ? kL1 : b.unit, Bound{b.unit, 0, b.per_sm, 0}).first->second;
      unit.seconds += b.seconds;
    }
    Waves& w = sum.waves;
    w.waves += p.waves.waves, w.full_waves += p.waves.full_waves;
    w.tail_blocks += p.waves.tail_blocks, w.busiest_sm_blocks += p.waves.busiest_sm_blocks;
    w.blocks_per_wave = std::max(w.blocks_per_wave, p.waves.blocks_per_wave);
    slots += std::ceil(p.waves.waves);
    balance += p.waves.balance * double(p.waves.busiest_sm_blocks);
  }
  if (slots > 0) sum.waves.wave_efficiency = sum.waves.waves / slots;
  if (sum.waves.busiest_sm_blocks > 0)
    sum.waves.balance = balance / double(sum.waves.busiest_sm_blocks);
  for (auto& [key, unit] : units) {
    for (const auto& [name, seconds] : l1_names)
      if (key == kL1 && seconds > l1_names[unit.unit]) unit.unit = name;
    if (sum.seconds > 0) unit.speed_of_light = unit.seconds / sum.seconds;
    sum.bounds.push_back(unit);
  }
  std::stable_sort(sum.bounds.begin(), sum.bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  if (!sum.bounds.empty()) sum.bound = sum.bounds.front().unit;
  return sum;
}

}  // namespace tw::model
