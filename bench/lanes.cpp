// Speed of single instructions: a loop of sixteen of them on per-lane registers, one warp after the
// other on one host thread. `items_per_second` is lane-instructions a second of the instruction
// named (the loop's own three instructions in nineteen are not counted). "/masked": half of the lanes
// are off, and count all the same: the rate a warp that is issued.
//
// First the instructions of a list, then, as "table/...", of every lane row one spelling a type:
// the first, and for floats also the first directed rounding.
//
//   lanes --benchmark_filter=fma
//   bench/record_lanes.py          both instruction sets, into bench/results/lanes-cpu.json
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "emu/device.h"
#include "emu/ir.h"
#include "isa/lane_rows.h"
#include "ptx/parser.h"

namespace {

using namespace tw;

constexpr uint32_t kThreads = 256, kIterations = 2000, kUnroll = 16;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench/lanes: {}\n", message);
  std::exit(1);
}

// `operands`: register classes of the sources, as "b32 b32 pred", or a table ("lut"), or an address
// that lies elsewhere for each lane ("global", "shared"); `result`: that of the destination, if any.
struct Instruction {
  std::string spelling, result, operands;
};
const Instruction kInstructions[] = {
    {"add.u32", "b32", "b32 b32"},
    {"mad.lo.s32", "b32", "b32 b32 b32"},
    {"mul.wide.u32", "b64", "b32 b32"},
    {"add.u64", "b64", "b64 b64"},
    {"mul.lo.u64", "b64", "b64 b64"},
    {"mul.hi.u32", "b32", "b32 b32"},
    {"min.s32", "b32", "b32 b32"},
    {"add.u16", "b16", "b16 b16"},
    {"div.u32", "b32", "b32 b32"},
    {"rem.s32", "b32", "b32 b32"},
    {"div.u64", "b64", "b64 b64"},
    {"rem.s64", "b64", "b64 b64"},
    {"and.b32", "b32", "b32 b32"},
    {"shl.b32", "b32", "b32 b32"},
    {"shr.s64", "b64", "b64 b32"},
    {"lop3.b32", "b32", "b32 b32 b32 lut"},
    {"shf.l.wrap.b32", "b32", "b32 b32 b32"},
    {"prmt.b32", "b32", "b32 b32 b32"},
    {"popc.b32", "b32", "b32"},
    {"clz.b32", "b32", "b32"},
    {"bfe.u32", "b32", "b32 b32 b32"},
    {"bfi.b32", "b32", "b32 b32 b32 b32"},
    {"brev.b32", "b32", "b32"},
    {"dp4a.s32.s32", "b32", "b32 b32 b32"},
    {"addc.cc.u32", "b32", "b32 b32"},
    {"add.f32", "b32", "b32 b32"},
    {"add.ftz.f32", "b32", "b32 b32"},
    {"mul.sat.f32", "b32", "b32 b32"},
    {"fma.rn.f32", "b32", "b32 b32 b32"},
    {"fma.rz.f32", "b32", "b32 b32 b32"},
    {"min.f32", "b32", "b32 b32"},
    {"div.rn.f32", "b32", "b32 b32"},
    {"sqrt.rn.f32", "b32", "b32"},
    {"add.f64", "b64", "b64 b64"},
    {"fma.rn.f64", "b64", "b64 b64 b64"},
    {"div.rn.f64", "b64", "b64 b64"},
    {"max.f64", "b64", "b64 b64"},
    {"ex2.approx.f32", "b32", "b32"},
    {"lg2.approx.f32", "b32", "b32"},
    {"sin.approx.f32", "b32", "b32"},
    {"cos.approx.f32", "b32", "b32"},
    {"rcp.approx.f32", "b32", "b32"},
    {"rsqrt.approx.f32", "b32", "b32"},
    {"tanh.approx.f32", "b32", "b32"},
    {"add.f16", "b16", "b16 b16"},
    {"add.f16x2", "b32", "b32 b32"},
    {"fma.rn.f16x2", "b32", "b32 b32 b32"},
    {"fma.rn.bf16x2", "b32", "b32 b32 b32"},
    {"mul.bf16x2", "b32", "b32 b32"},
    {"max.f16x2", "b32", "b32 b32"},
    {"setp.lt.s32", "pred", "b32 b32"},
    {"setp.gt.f32", "pred", "b32 b32"},
    {"setp.lt.u64", "pred", "b64 b64"},
    {"setp.lt.and.f32", "pred", "b32 b32 pred"},
    {"setp.ne.and.s32", "pred", "b32 b32 pred"},
    {"selp.b32", "b32", "b32 b32 pred"},
    {"set.gt.f16x2.f16x2", "b32", "b32 b32"},
    {"cvt.rn.f32.s32", "b32", "b32"},
    {"cvt.rzi.s32.f32", "b32", "b32"},
    {"cvt.rn.f64.s64", "b64", "b64"},
    {"cvt.rn.f32.u64", "b32", "b64"},
    {"cvt.rzi.u64.f32", "b64", "b32"},
    {"cvt.rzi.s64.f64", "b64", "b64"},
    {"cvt.f64.f32", "b64", "b32"},
    {"cvt.rn.f32.f64", "b32", "b64"},
    {"cvt.rn.f16.f32", "b16", "b32"},
    {"cvt.f32.f16", "b32", "b16"},
    {"cvt.rn.bf16.f32", "b16", "b32"},
    {"cvt.rn.f16x2.f32", "b32", "b32 b32"},
    {"cvt.s64.s32", "b64", "b32"},
    {"cvt.u32.u16", "b32", "b16"},
    {"cvt.sat.u8.s32", "b16", "b32"},
    {"cvt.rn.satfinite.e4m3x2.f32", "b16", "b32 b32"},
    {"ld.global.u32", "b32", "global"},
    {"ld.global.u64", "b64", "global"},
    {"ld.shared.u32", "b32", "shared"},
    {"st.global.u32", "", "global b32"},
    {"atom.global.add.u32", "b32", "global b32"},
    {"red.global.add.u32", "", "global b32"},
    {"atom.shared.add.u32", "b32", "shared b32"},
    {"red.shared.add.u32", "", "shared b32"},
    {"red.global.add.f32", "", "global b32"},
};
// These also with every other lane off.
constexpr std::string_view kMasked[] = {"add.u32", "fma.rn.f32", "fma.rn.f64", "add.f16x2",
                                        "ld.global.u32"};

// One spelling of every lane row and type, with the operands that its handler takes.
std::vector<Instruction> of_the_table() {
  std::vector<Instruction> found;
  const auto class_of = [](uint8_t bytes) {
    return bytes == 0 ? std::string("pred") : fmt::format("b{}", bytes * 8);
  };
  for (isa::RowId row = 0; row < isa::kLaneRows; ++row) {
    const isa::RowInfo& info = isa::row_info(row);
    std::set<std::string> seen;  // types and whether the rounding is directed
    for (const std::vector<std::string>& words : isa::spellings(row)) {
      const auto match = isa::match_words(row, words);
      if (!match) continue;
      const uint8_t rnd = match->mods[isa::Field::rnd];
      if (rnd > isa::kRz && rnd < isa::kRna) continue;  // like .rz
      const emu::LaneEntry* entry =
          emu::find_entry(emu::host_target(), row, match->type, match->type2);
      if (entry == nullptr) continue;
      if (!seen.insert(
                   fmt::format("{} {} {}", int(match->type), int(match->type2), rnd == isa::kRz))
               .second)
        continue;
      Instruction in;
      in.spelling = info.opcode();
      for (const std::string& word : words)
        if (!word.empty()) in.spelling += "." + word;
      in.result = class_of(entry->destination_bytes);
      const uint32_t sources = entry->sources - (info.carry_in ? 1u : 0u);
      for (uint32_t i = 0; i < sources; ++i) {
        if (i > 0) in.operands += ' ';
        in.operands += i == entry->constant_source ? "lut" : class_of(entry->source_bytes[i]);
      }
      found.push_back(std::move(in));
    }
  }
  return found;
}

std::string kernel_text(const Instruction& in, bool masked) {
  std::string text =
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg "
      ".b16 %b16_<32>;\n.reg .b32 %b32_<32>, %n, %t;\n.reg .b64 %b64_<32>, %a;\n.reg .pred "
      "%pred_<32>, %go;\n.reg .b64 %global;\n.reg .b32 %shared;\n.shared .align 8 .b8 "
      "array[16384];\n";
  text +=
      "ld.param.u64 %a, [p];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %b64_31, %t, 64;\nadd.u64 %a, %a, "
      "%b64_31;\nmov.u32 %n, 0;\n"
      "ld.param.u64 %global, [p];\nmul.lo.u32 %shared, %t, 97;\nand.b32 %shared, %shared, 255;\n"
      "mul.wide.u32 %b64_31, %shared, 64;\nadd.u64 %global, %global, %b64_31;\n"
      "shl.b32 %shared, %shared, 6;\n";
  for (int i = 16; i < 24; ++i)
    text += fmt::format(
        "ld.global.u16 %b16_{0}, [%a+{1}];\nld.global.u32 %b32_{0}, [%a+{1}];\nld.global.u64 "
        "%b64_{0}, [%a+{1}];\nsetp.gt.s32 %pred_{0}, %b32_{0}, 77;\n",
        i, (i - 16) * 8);
  if (masked)
    text += "and.b32 %n, %t, 1;\nsetp.ne.u32 %go, %n, 0;\n@%go bra end;\nmov.u32 %n, 0;\n";
  text += "loop:\n";
  for (uint32_t u = 0; u < kUnroll; ++u) {
    std::string operands = in.operands, list;
    if (!in.result.empty()) list = fmt::format("%{}_{}", in.result, u);
    int source = 16 + int(u % 4);
    for (size_t at = 0; at < operands.size();) {
      size_t end = std::min(operands.find(' ', at), operands.size());
      std::string kind = operands.substr(at, end - at);
      if (!list.empty()) list += ", ";
      list += kind == "lut"                          ? "0x96"
              : kind == "global" || kind == "shared" ? fmt::format("[%{}]", kind)
                                                     : fmt::format("%{}_{}", kind, source++);
      at = end + 1;
    }
    text += fmt::format("{} {}", in.spelling, list);
    text += ";\n";
  }
  return text +
         fmt::format(
             "add.u32 %n, %n, 1;\nsetp.lt.u32 %go, %n, {};\n@%go bra loop;\nend:\nret;\n}}\n",
             kIterations);
}

void instruction(benchmark::State& state, const Instruction& in, bool masked) {
  auto spec = model::load_device_spec("h200");
  if (!spec.ok()) fail(spec.error().to_string());
  emu::DeviceOptions options;
  options.threads = 1;
  options.memory_bytes = 64 << 20;
  auto device = emu::Device::create(*spec, options);
  if (!device.ok()) fail(device.error().to_string());
  auto parsed = ptx::parse(kernel_text(in, masked), "lanes.ptx");
  if (!parsed.ok()) fail(parsed.error().to_string());
  auto module = (*device)->load(std::move(*parsed));
  if (!module.ok()) fail(module.error().to_string());
  uint64_t data = *(*device)->allocate(kThreads * 64, emu::AllocationKind::device);
  auto* words = reinterpret_cast<uint32_t*>((*device)->host_pointer(data, kThreads * 64));
  uint32_t s = 1;
  for (uint32_t i = 0; i < kThreads * 16; ++i)
    s = s * 1664525u + 1013904223u,
    words[i] = 0x3f803f80u | ((s >> 8) & 0x007f007fu);  // ordinary floats and halves of each format
  emu::Launch launch;
  launch.kernel = (*device)->find_kernel(**module, "k");
  launch.grid = {1, 1, 1}, launch.block = {kThreads, 1, 1};
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &data, 8);
  for (auto _ : state) {
    auto run = (*device)->start(launch);
    if (!run.ok()) fail(run.error().to_string());
    while ((*run)->advance() == emu::GridRun::State::yielded) {
    }
  }
  state.SetItemsProcessed(int64_t(state.iterations()) * kThreads * kIterations * kUnroll);
}

void add(const std::string& name, const Instruction& in, bool masked) {
  benchmark::RegisterBenchmark(name.c_str(), [in, masked](benchmark::State& state) {
    instruction(state, in, masked);
  })->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Instruction& in : kInstructions) {
    add(in.spelling, in, false);
    if (std::find(std::begin(kMasked), std::end(kMasked), in.spelling) != std::end(kMasked))
      add(in.spelling + "/masked", in, true);
  }
  for (const Instruction& in : of_the_table()) add("table/" + in.spelling, in, false);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
