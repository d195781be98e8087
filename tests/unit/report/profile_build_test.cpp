// build_profile on records made by hand, with the machine code of tests/data/sass.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ptx/parser.h"
#include "report/profile.h"
#include "report/shared_widths.h"

namespace tw::report {
namespace {

constexpr const char* kKernel = "_Z10gemm_tiledILi16EEvPKfS1_Pfi";

std::string data(const char* name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR "/tests/data/sass/") + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every shared load of tiled.ptx, executed 100 times; A's loads are aligned to 64 bytes, B's to 4.
struct Made {
  Records records;
  Made() {
    const std::string text = data("tiled.ptx");
    records.modules.push_back({1, text});
    const auto module = ptx::parse(text, "tiled.ptx");
    const ptx::Function* f = module->find_function(kKernel);
    ProgramRecord p;
    p.id = 2, p.ptx = 1, p.kernel = kKernel, p.block = {16, 16, 1}, p.static_shared_bytes = 2048,
    p.registers = 40;
    LaunchRecord l;
    l.program = 2, l.grid = {16, 16, 1};
    for (uint32_t i = 0; i < f->instructions.size(); ++i) {
      const ptx::Instruction& in = f->instructions[i];
      SiteInfo s;
      s.function = kKernel, s.instruction = i, s.text = in.spelling(), s.file = "tiled.cu",
      s.line = 13, s.category = "other", s.pipe = "adu";
      SiteCounts c;
      c.warps = 100, c.lanes = 3200;
      if (in.spelling() == "ld.shared.f32" || in.spelling() == "st.shared.f32") {
        s.traffic = in.opcode == "ld" ? Traffic::shared_load : Traffic::shared_store, s.width = 4,
        s.pipe = "lsu";
        const bool a =
            in.opcode == "ld" && in.operands[1].offset < 64 && in.operands[1].offset % 64 != 0;
        c.requests = 100, c.access_lanes = 3200;
        c.wavefronts = {100, 100, a || in.opcode == "ld" ? 200u : 400u}, c.groups = {100, 100, 200};
        c.address_bits = uint32_t(in.operands[in.opcode == "ld" ? 1 : 0].offset & 15) | 4;
      }
      if (in.opcode == "fma") s.op = "ffma", s.flops = 2, s.pipe = "fma", s.category = "fp32";
      p.sites.push_back(s);
      l.sites.push_back(c);
    }
    records.programs.push_back(p);
    records.launches.push_back(l);
  }
};

MachineCode machine() {
  const std::string image = data("tiled.cubin");
  MachineCode m;
  m.code = *sass::read_cubin({reinterpret_cast<const uint8_t*>(image.data()), image.size()},
                             "tiled.cubin");
  sass::KernelResources r;
  r.name = kKernel, r.registers = 32, r.shared_bytes = 2048;
  m.resources = {r};
  return m;
}

const model::DeviceSpec& h200() {
  static const model::DeviceSpec spec = *model::load_device_spec("h200");
  return spec;
}

TEST(ProfileBuild, WidthsComeFromTheMachineCode) {
  const Made made;
  BuildOptions options;
  options.machine[1] = machine();
  const Profile p = build_profile(made.records, h200(), options);
  ASSERT_EQ(p.kernels.size(), 1u);
  const KernelProfile& k = p.kernels[0];
  EXPECT_EQ(k.name, "gemm_tiled<16>");
  EXPECT_EQ(k.registers, 32u);
  EXPECT_FALSE(k.resources_estimated);
  EXPECT_FALSE(k.shared_estimated);
  EXPECT_EQ(k.total.shared_ld_requests, 100 * (16 + 4));  // per K-tile, as on the H200
  EXPECT_EQ(k.total.shared_ld_wavefronts, 100 * (16 + 4 * 2));
  EXPECT_EQ(k.total.shared_ld_conflicts, 0);
  EXPECT_EQ(k.total.shared_st_requests, 200);
  EXPECT_EQ(p.launches[0].metrics.at("smsp__sass_inst_executed_op_shared_ld.sum"), 2000);
  EXPECT_EQ(p.launches[0].metrics.at("launch__shared_mem_per_block"), 3072);
  EXPECT_EQ(p.launches[0].metrics.at("launch__occupancy_limit_registers"), 8);
  EXPECT_EQ(p.launches[0].metrics.at("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
            16 * 3200);
}

TEST(ProfileBuild, AsWrittenTakesPtxAsItIs) {
  const Made made;
  BuildOptions options;
  options.machine[1] = machine();
  options.as_written = true;
  const Profile p = build_profile(made.records, h200(), options);
  EXPECT_EQ(p.kernels[0].total.shared_ld_requests, 3200);
}

TEST(ProfileBuild, WithoutPtxasTheFiguresAreMarkedEstimated) {
  const Made made;
  BuildOptions options;
  options.ptxas_note = "no ptxas was found";
  const Profile p = build_profile(made.records, h200(), options);
  EXPECT_TRUE(p.kernels[0].resources_estimated);
  EXPECT_TRUE(p.kernels[0].shared_estimated);
  EXPECT_EQ(p.kernels[0].registers, 40u);
  EXPECT_TRUE(p.estimated_metrics.contains("launch__registers_per_thread"));
  EXPECT_TRUE(p.estimated_metrics.contains("smsp__sass_inst_executed_op_shared_ld.sum"));
  EXPECT_NE(profile_text(p).find("estimated"), std::string::npos);
}

// The model of ptxas joins what is adjacent, in one block, and aligned as seen.
TEST(SharedWidths, ModelJoinsAlignedNeighboursOnly) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n .reg .b32 %r<2>;\n "
      ".reg .f32 %f<8>;\n"
      " ld.shared.f32 %f1, [%r1];\n ld.shared.f32 %f2, [%r1+4];\n ld.shared.f32 %f3, [%r1+8];\n "
      "ld.shared.f32 %f4, [%r1+12];\n"
      " bar.sync 0;\n ld.shared.f32 %f5, [%r1+16];\n ld.shared.f32 %f6, [%r1+24];\n ret;\n}\n";
  const auto module = ptx::parse(text, "k.ptx");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function* f = module->find_function("k");
  ProgramRecord p;
  std::vector<SiteCounts> counts;
  for (uint32_t i = 0; i < f->instructions.size(); ++i) {
    if (f->instructions[i].opcode != "ld") continue;
    SiteInfo s;
    s.function = "k", s.instruction = i, s.text = "ld.shared.f32", s.traffic = Traffic::shared_load,
    s.width = 4;
    p.sites.push_back(s);
    SiteCounts c;
    c.address_bits = uint32_t(f->instructions[i].operands[1].offset & 15);
    counts.push_back(c);
  }
  auto rules = shared_width_rules(p, counts, *f, nullptr);
  ASSERT_EQ(rules.size(), 6u);
  EXPECT_EQ(rules[0].requests, (std::array<double, 3>{0, 0, 1}));
  for (size_t i : {1u, 2u, 3u}) EXPECT_EQ(rules[i].requests, (std::array<double, 3>{0, 0, 0})) << i;
  for (size_t i : {4u, 5u}) EXPECT_EQ(rules[i].requests, (std::array<double, 3>{1, 0, 0})) << i;
  for (SiteCounts& c : counts) c.address_bits |= 4;  // some lane was not aligned to 8
  rules = shared_width_rules(p, counts, *f, nullptr);
  for (const WidthRule& r : rules) EXPECT_EQ(r.requests, (std::array<double, 3>{1, 0, 0}));
}

// Shared counters: the hardware adds up lanes of one word only where nothing wants the old value.
TEST(SharedWidths, IncrementsNobodyReadsAreAddedUp) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n .reg .b32 %r<9>;\n"
      " atom.shared.add.u32 %r2, [%r1], 1;\n"
      " atom.shared.add.u32 %r3, [%r1], 1;\n"
      " atom.shared.add.u32 %r4, [%r1], 2;\n"
      " red.shared.add.u32 [%r1], 1;\n"
      " atom.shared.inc.u32 %r5, [%r1], -1;\n"
      " atom.shared.exch.b32 %r6, [%r1], %r3;\n ret;\n}\n";
  const auto module = ptx::parse(text, "k.ptx");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function* f = module->find_function("k");
  Records records;
  records.modules.push_back({1, text});
  ProgramRecord p;
  p.id = 2, p.ptx = 1, p.kernel = "k", p.block = {32, 1, 1};
  LaunchRecord l;
  l.program = 2, l.grid = {1, 1, 1};
  for (uint32_t i = 0; i + 1 < f->instructions.size(); ++i) {
    SiteInfo s;
    s.function = "k", s.instruction = i, s.text = f->instructions[i].spelling(), s.line = i + 1,
    s.traffic = Traffic::shared_atomic, s.category = "atomic", s.pipe = "lsu", s.width = 4;
    p.sites.push_back(s);
    SiteCounts c;
    c.warps = c.requests = 10, c.lanes = c.access_lanes = 320;
    c.wavefronts = {320, 10, 0}, c.groups = {10, 10, 0};
    l.sites.push_back(c);
    BankExample e;
    e.site = i, e.mask = ~0u, e.wavefronts = 32, e.groups = 1;
    l.examples.push_back(e);
  }
  records.programs.push_back(p);
  records.launches.push_back(l);
  const Profile profile = build_profile(records, h200(), {});
  const KernelProfile& k = profile.kernels[0];
  std::vector<double> wavefronts;
  for (const InstructionProfile& i : k.instructions)
    wavefronts.push_back(i.counters.shared_atomic_wavefronts);
  EXPECT_EQ(wavefronts, (std::vector<double>{10, 320, 320, 10, 10, 320}));
  EXPECT_EQ(k.total.shared_atomic_requests, 60);
  EXPECT_EQ(k.total.excess_wavefronts(), 930);
  EXPECT_EQ(k.prediction.bound, "shared memory");
  const auto& metrics = profile.launches[0].metrics;
  EXPECT_EQ(metrics.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"), 990);
  EXPECT_EQ(metrics.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"), 930);
  EXPECT_TRUE(
      profile.estimated_metrics.contains("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"));
  EXPECT_FALSE(profile.estimated_metrics.contains("smsp__sass_inst_executed_op_shared_ld.sum"));
  ASSERT_EQ(k.banks.size(), 6u);
  EXPECT_EQ(k.banks.front().wavefronts, 32u);
  EXPECT_TRUE(k.banks.front().each_lane);
  EXPECT_FALSE(k.banks.back().each_lane);
  EXPECT_EQ(k.banks.back().wavefronts, 1u);  // lanes of a word, added up
}

TEST(ReadableKernel, DropsReturnTypeAndParameters) {
  EXPECT_EQ(readable_kernel("_Z10gemm_tiledILi16EEvPKfS1_Pfi"), "gemm_tiled<16>");
  EXPECT_EQ(readable_kernel("_Z6vecaddPKfS0_Pfi"), "vecadd");
  EXPECT_EQ(readable_kernel("plain_c"), "plain_c");
}

TEST(ProfileWriters, AnEmptyProfileIsWrittenToo) {
  const Profile p = build_profile({}, h200(), {});
  EXPECT_EQ(profile_text(p), "No kernel has run.\n");
  EXPECT_NE(profile_json(p).find("\"launches\": []"), std::string::npos);
  EXPECT_NE(profile_html(p).find("<!doctype html>"), std::string::npos);
}

}  // namespace
}  // namespace tw::report
