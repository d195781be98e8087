// Every row of the instruction table, executed by the engine over edge and random values:
//   - against the independent reference (reference.h) where it has an opinion,
//   - against the results of a real H200 (expected_h200.bin), bit for bit where the manual defines
//   them,
//   - predicated and warp-uniform execution against plain execution.
// The instruction set comes from TILEWRIGHT_TARGET; TILEWRIGHT_ISA_DIGESTS names a file that gets
// one line a case, which CTest compares between instruction sets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "cases.h"
#include "emu/device.h"
#include "emu/program.h"
#include "expectations.h"
#include "isa/lane_rows.h"
#include "model/device_spec.h"
#include "ptx/parser.h"
#include "reference.h"
#include "values.h"

namespace tw::isa_test {
namespace {

constexpr uint32_t kUniformTuples = 64;

struct Ran {
  Case c;
  std::vector<uint64_t> inputs, plain, guarded, uniform;
  std::string failure;
};

class Engine {
 public:
  Engine() {
    emu::DeviceOptions options;
    options.threads = 1;
    options.memory_bytes = 64 << 20;
    device_ = std::move(emu::Device::create(*model::load_device_spec("h200"), options)).value();
    in_ = *device_->allocate(kTuples * 8 * 8, emu::AllocationKind::device);
    out_ = *device_->allocate(kTuples * 8, emu::AllocationKind::device);
  }

  // All cases of one row: one module.
  void run(std::vector<Ran*> cases) {
    std::string text = module_header(isa::row_info(cases[0]->c.row).min_sm > 90);
    for (size_t i = 0; i < cases.size(); ++i) {
      text += kernel_text(cases[i]->c, fmt::format("p{}", i), Mode::plain);
      if (!cases[i]->c.body.empty()) continue;
      text += kernel_text(cases[i]->c, fmt::format("g{}", i), Mode::guarded);
      text += kernel_text(cases[i]->c, fmt::format("u{}", i), Mode::uniform);
    }
    Result<ptx::Module> parsed = ptx::parse(text, "isa.ptx");
    if (!parsed.ok()) return fail(cases, parsed.error().to_string());
    Result<emu::LoadedModule*> module = device_->load(std::move(*parsed));
    if (!module.ok()) return fail(cases, module.error().to_string());
    for (size_t i = 0; i < cases.size(); ++i) {
      Ran& r = *cases[i];
      r.inputs = input_values(r.c.operands, r.c.seed);
      std::memcpy(device_->host_pointer(in_, r.inputs.size() * 8), r.inputs.data(),
                  r.inputs.size() * 8);
      r.plain =
          launch(**module, fmt::format("p{}", i), {1, 1, 1}, {kTuples, 1, 1}, kTuples, r.failure);
      if (!r.c.body.empty()) continue;
      r.guarded =
          launch(**module, fmt::format("g{}", i), {1, 1, 1}, {kTuples, 1, 1}, kTuples, r.failure);
      r.uniform = launch(**module, fmt::format("u{}", i), {kUniformTuples, 1, 1}, {32, 1, 1},
                         kUniformTuples, r.failure);
    }
    device_->unload(*module);
  }

 private:
  static void fail(std::vector<Ran*>& cases, const std::string& message) {
    for (Ran* r : cases) r->failure = message;
  }
  std::vector<uint64_t> launch(const emu::LoadedModule& module, const std::string& name,
                               emu::Dim3 grid, emu::Dim3 block, uint32_t results,
                               std::string& failure) {
    emu::Launch l;
    l.kernel = device_->find_kernel(module, name);
    l.grid = grid, l.block = block;
    l.parameters.resize(16);
    std::memcpy(l.parameters.data(), &out_, 8);
    std::memcpy(l.parameters.data() + 8, &in_, 8);
    uint8_t* out = device_->host_pointer(out_, kTuples * 8);
    std::memset(out, 0xee, kTuples * 8);
    Result<std::unique_ptr<emu::GridRun>> started = device_->start(l);
    if (!started.ok()) {
      failure = started.error().to_string();
      return {};
    }
    emu::GridRun::State state;
    do state = (*started)->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) failure = (*started)->fault().message;
    std::vector<uint64_t> values(results);
    std::memcpy(values.data(), out, results * 8);
    return values;
  }
  std::unique_ptr<emu::Device> device_;
  uint64_t in_ = 0, out_ = 0;
};

// Everything is executed once for all tests.
const std::vector<Ran>& results() {
  static const std::vector<Ran> all = [] {
    std::vector<Ran> ran;
    for (Case& c : all_cases()) ran.push_back({std::move(c), {}, {}, {}, {}, {}});
    Engine engine;
    for (size_t i = 0; i < ran.size();) {
      std::vector<Ran*> row;
      size_t j = i;
      for (; j < ran.size() && ran[j].c.row == ran[i].c.row; ++j) row.push_back(&ran[j]);
      engine.run(row);
      i = j;
    }
    return ran;
  }();
  return all;
}

std::string describe(const Ran& r, size_t t) {
  std::string text = r.c.name + "(";
  size_t n = r.c.operands.size();
  for (size_t i = 0; i < n; ++i)
    text += fmt::format("{}0x{:x}", i ? ", " : "", r.inputs[t * n + i]);
  return text + ")";
}

// Why a machine row has no case here.
std::string_view reason_without_case(isa::Machine machine) {
  switch (machine) {
    case isa::Machine::shfl:
    case isa::Machine::vote:
    case isa::Machine::vote_ballot:
      return "gone since compute capability 7.0: the driver refuses it";
    case isa::Machine::trap:
    case isa::Machine::brkpt: return "ends the kernel: unit.emu";
    case isa::Machine::pmevent: return "has no result";
    case isa::Machine::wgmma_half:
    case isa::Machine::wgmma_bfloat:
    case isa::Machine::wgmma_tf32:
    case isa::Machine::wgmma_float8:
    case isa::Machine::wgmma_byte:
    case isa::Machine::wgmma_bit:
    case isa::Machine::wgmma_fence:
    case isa::Machine::wgmma_commit:
    case isa::Machine::wgmma_wait:
    case isa::Machine::bulk_load:
    case isa::Machine::bulk_store:
    case isa::Machine::bulk_tensor_load:
    case isa::Machine::bulk_tensor_store:
    case isa::Machine::bulk_commit:
    case isa::Machine::bulk_wait:
    case isa::Machine::fence_mbarrier_init:
      return "needs shared memory, barriers or four warps: e2e.wgmma, e2e.bulk, which have also "
             "run "
             "on the GPU";
    case isa::Machine::cluster_arrive:
    case isa::Machine::cluster_wait:
    case isa::Machine::mapa:
    case isa::Machine::getctarank:
    case isa::Machine::st_async:
    case isa::Machine::red_async:
    case isa::Machine::bulk_multicast:
    case isa::Machine::bulk_tensor_multicast:
    case isa::Machine::bulk_to_cluster:
      return "needs a cluster: e2e.cluster and steps 18 and 19 of kernels/gemm, which have also "
             "run on "
             "the GPU";
    case isa::Machine::setmaxnreg: return "has no result";
    default: return {};
  }
}

TEST(Isa, EveryRowIsCovered) {
  std::map<isa::RowId, size_t> cases;
  for (const Ran& r : results()) ++cases[r.c.row];
  size_t explained = 0;
  for (isa::RowId row = 0; row < isa::row_count(); ++row) {
    const isa::RowInfo& info = isa::row_info(row);
    const std::optional<isa::Machine> machine = isa::machine_row(row);
    bool predicate = !machine && info.types.size() == 1 &&
                     info.types[0] == ptx::Type::pred;  // and.pred: unit.emu has those
    const bool reason = predicate || (machine && !reason_without_case(*machine).empty());
    if (!cases.contains(row) && !reason) ADD_FAILURE() << "no case for " << info.grammar;
    explained += !cases.contains(row) && reason;
  }
  fmt::print("{} cases for {} of {} rows, {} without one for a stated reason\n", results().size(),
             cases.size(), isa::row_count(), explained);
}

TEST(Isa, EveryCaseRuns) {
  for (const Ran& r : results()) EXPECT_EQ(r.failure, "") << r.c.name;
}

TEST(Isa, AgreesWithTheReference) {
  size_t checked = 0, with_opinion = 0, of_lanes = 0;
  for (const Ran& r : results()) {
    if (!r.failure.empty() || !r.c.body.empty()) continue;
    ++of_lanes;
    size_t n = r.c.operands.size(), wrong = 0;
    bool any = false;
    for (size_t t = 0; t < kTuples; ++t) {
      std::optional<Expected> e = reference(r.c, &r.inputs[t * n]);
      if (!e) continue;
      any = true;
      ++checked;
      if (agrees(r.c, *e, r.plain[t])) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << describe(r, t)
                      << fmt::format(" = 0x{:x}, reference 0x{:x}{}", r.plain[t], e->bits,
                                     e->bound > 0 ? " (bounded)" : "");
    }
    if (wrong > 3) ADD_FAILURE() << r.c.name << ": " << wrong << " tuples differ";
    with_opinion += any;
  }
  fmt::print("{} results of {} cases compared\n", checked, with_opinion);
  EXPECT_GT(with_opinion, of_lanes / 2);
}

TEST(Isa, PredicatedAndUniformExecutionGiveTheSame) {
  for (const Ran& r : results()) {
    if (!r.failure.empty() || !r.c.body.empty()) continue;
    size_t wrong = 0;
    for (size_t t = 0; t < kTuples; ++t) {
      uint64_t expected = t & 1 ? r.plain[t] : 0;
      if (r.guarded[t] != expected && ++wrong <= 2)
        ADD_FAILURE() << "predicated " << describe(r, t)
                      << fmt::format(" = 0x{:x}, not 0x{:x}", r.guarded[t], expected);
      if (t < kUniformTuples && r.uniform[t] != r.plain[t] && ++wrong <= 2)
        ADD_FAILURE() << "uniform " << describe(r, t)
                      << fmt::format(" = 0x{:x}, not 0x{:x}", r.uniform[t], r.plain[t]);
    }
  }
}

// Where the manual leaves the result open, or gives a bound only.
bool bits_are_defined(const Ran& r, size_t t) {
  const isa::RowInfo& info = isa::row_info(r.c.row);
  std::string_view opcode = info.opcode();
  if (info.grammar.find("approx") != std::string_view::npos ||
      info.grammar.find("full") != std::string_view::npos)
    return false;
  size_t n = r.c.operands.size();
  if ((opcode == "div" || opcode == "rem") && info.category == isa::Category::integer) {
    int bits = int(ptx::type_bytes(r.c.match.type)) * 8;
    if ((r.inputs[t * n + 1] << (64 - bits)) == 0) return false;
  }
  return true;
}
// Where an H200 (driver 13000) was seen to give something else than the manual says, or than we
// can.
std::string_view known_difference(const Case& c) {
  const auto has = [&](std::string_view part) { return c.name.find(part) != std::string::npos; };
  if (has("add.noftz") && has("x2") && has("shared"))
    return "of two halves in shared memory the H200 adds the lower one only";
  if (has("isspacep.") && has(" const"))
    return "constants lie in global memory here, and are taken for it";
  if (c.name == "cvt.rp.ftz.f16.f32") return "the H200 does not flush the subnormal source";
  return {};
}
bool nan_sum_of_doubles(const Ran& r, size_t t) {
  if (r.c.name.find(".add.f64") == std::string::npos) return false;
  return std::isnan(number(ptx::Type::f64, r.inputs[2 * t])) ||
         std::isnan(number(ptx::Type::f64, r.inputs[2 * t + 1]));
}
bool both_nan(const Ran& r, uint64_t a, uint64_t b) {
  ptx::Type type = r.c.match.type;
  bool floating = type == ptx::Type::f64 || type == ptx::Type::f32 || type == ptx::Type::f16 ||
                  type == ptx::Type::bf16;
  return floating && r.c.result != "pred" && std::isnan(number(type, a)) &&
         std::isnan(number(type, b));
}

TEST(Isa, AgreesWithTheH200) {
  Expectations file;
  const char* path = TILEWRIGHT_SOURCE_DIR "/tests/isa/expected_h200.bin";
  if (!std::ifstream(path).good())
    FAIL() << "no results of a GPU: tests/gpu/isa_expectations.cpp makes them";
  ASSERT_TRUE(read_expectations(path, file));
  size_t compared = 0, missing = 0, refused = 0, different = 0;
  for (const Ran& r : results()) {
    if (newer_than_h200(r.c) || !r.failure.empty()) continue;
    auto found = file.cases.find(case_key(r.c));
    if (found == file.cases.end()) {
      ++missing;
      continue;
    }
    if (!found->second.ran) {
      ++refused;
      continue;
    }
    if (!known_difference(r.c).empty()) {
      ++different;
      continue;
    }
    size_t n = r.c.operands.size(), wrong = 0;
    uint64_t mask = r.c.result_bytes == 8 ? ~0ull : (1ull << (8 * r.c.result_bytes)) - 1;
    bool open_nan = r.c.match.type == ptx::Type::f64 || isa::row_info(r.c.row).opcode() == "neg" ||
                    isa::row_info(r.c.row).opcode() == "abs" || r.c.match.type2 == ptx::Type::f64;
    for (size_t t = 0; t < kTuples; ++t) {
      uint64_t gpu = found->second.values[t], got = r.plain[t] & mask;
      bool good = gpu == got || (open_nan && both_nan(r, gpu, got));
      good |= nan_sum_of_doubles(r, t);
      if (!good && r.c.body.empty() && !bits_are_defined(r, t)) {
        std::optional<Expected> e = reference(r.c, &r.inputs[t * n]);
        good = !e || agrees(r.c, *e, gpu);
      }
      ++compared;
      if (!good && ++wrong <= 3)
        ADD_FAILURE() << describe(r, t)
                      << fmt::format(" = 0x{:x}, {} gave 0x{:x}", got, file.device, gpu);
    }
    if (wrong > 3) ADD_FAILURE() << r.c.name << ": " << wrong << " tuples differ";
  }
  fmt::print(
      "{}, driver {}: {} results compared, {} cases refused by the driver, {} not in the file, {} "
      "known to differ\n",
      file.device, file.driver, compared, refused, missing, different);
  EXPECT_EQ(refused, 0u) << "the generator makes forms that do not exist";
  EXPECT_LT(missing, results().size() / 20)
      << "expected_h200.bin is out of date: run tests/gpu/isa_expectations.cpp again";
}

TEST(Isa, Digests) {
  const char* path = std::getenv("TILEWRIGHT_ISA_DIGESTS");
  if (!path) GTEST_SKIP() << "TILEWRIGHT_ISA_DIGESTS is not set";
  std::ofstream out(path);
  for (const Ran& r : results()) {
    uint64_t h = 0;
    for (uint64_t v : r.plain) h = h * 0x100000001b3u + v;
    out << fmt::format("{} {:016x}\n", r.c.name, h);
  }
  ASSERT_TRUE(out.good());
}

}  // namespace
}  // namespace tw::isa_test
