// The same random kernels with and without the handlers' filters (CheckOptions::filtered): results
// and findings must be the same, counts included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "emu/device.h"
#include "observe/checkers/session.h"
#include "ptx/parser.h"

namespace tw::observe {
namespace {

constexpr uint32_t kWords = 1024;  // of each array in global memory
constexpr uint32_t kShared = 512;  // words

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return uint32_t(engine_() % n); }

 private:
  std::mt19937 engine_;
};

// Loads and stores whose addresses are uniform, equal or consecutive over half-warps, in wider
// steps, or scattered; some under a guard; with a barrier here and there. `tame`: a thread's stores
// go to words of its own.
std::string kernel(uint32_t seed) {
  Random random(seed);
  const bool tame = random.below(2) == 0;
  std::string body;
  auto add = [&](const std::string& line) { body += "  " + line + "\n"; };
  const uint32_t count = 8 + random.below(24);
  for (uint32_t i = 0; i < count; ++i) {
    if (random.below(4) == 0) {
      add("bar.sync 0;");
      continue;
    }
    const bool shared = random.below(2) == 0, store = random.below(3) == 0;
    static constexpr uint32_t kVectors[] = {1, 1, 1, 2, 4};
    const uint32_t vector = kVectors[random.below(5)];
    const uint32_t words = shared ? kShared : kWords;
    // r1 tid, r2 tid % 16, r3 tid / 16, r4 block, r5 a constant
    std::string index;
    switch (store && tame ? 1 : random.below(6)) {
      case 0: index = "mov.u32 %r10, %r3;"; break;
      case 1: index = "mov.u32 %r10, %r1;"; break;
      case 2: index = "mov.u32 %r10, %r2;"; break;
      case 3: index = "mad.lo.u32 %r10, %r1, 33, %r3;"; break;
      case 4: index = "mov.u32 %r10, %r4;"; break;
      default: index = "mad.lo.u32 %r10, %r1, %r1, " + std::to_string(random.below(50)) + ";";
    }
    add(index);
    if (!(store && tame) && random.below(2) == 0)
      add("add.u32 %r10, %r10, " + std::to_string(random.below(64)) + ";");
    if (!shared && random.below(2) == 0) add("mad.lo.u32 %r10, %r4, 64, %r10;");
    add("and.b32 %r10, %r10, " + std::to_string(words / vector - 1) + ";");
    const std::string guard = random.below(4) == 0 ? "@%p1 " : "";
    const std::string type = vector == 1 ? "u32" : "v" + std::to_string(vector) + ".u32";
    const std::string value = vector == 1   ? "%r11"
                              : vector == 2 ? "{%r11, %r12}"
                                            : "{%r11, %r12, %r13, %r14}";
    std::string address;
    if (shared) {
      add("mad.lo.u32 %r15, %r10, " + std::to_string(4 * vector) + ", %r6;");
      address = "[%r15]";
    } else {
      add("mul.wide.u32 %rd3, %r10, " + std::to_string(4 * vector) + ";");
      add("add.s64 %rd4, %rd" + std::to_string(1 + random.below(2)) + ", %rd3;");
      address = "[%rd4]";
    }
    const std::string space = shared ? ".shared." : ".global.";
    if (store)
      add(guard + "st" + space + type + " " + address + ", " + value + ";");
    else
      add(guard + "ld" + space + type + " " + value + ", " + address + ";");
  }
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {
  .shared .align 16 .b8 tile[2048];
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 15;
  shr.u32 %r3, %r1, 4;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r6, tile;
  mov.u32 %r11, %r1;
  mov.u32 %r12, %r2;
  mov.u32 %r13, %r3;
  mov.u32 %r14, %r4;
  setp.lt.u32 %p1, %r2, 11;
)" + body +
         "  ret;\n}\n";
}

struct Outcome {
  report::CheckSummary checked;
  std::vector<std::string> findings;
  std::vector<uint32_t> memory;
};

Outcome run(const std::string& text, bool filtered, uint8_t tools, uint32_t seed,
            uint32_t records = shadow::RecordLog::kMost) {
  CheckOptions options;
  options.max_records = records;
  options.tools = tools;
  options.filtered = filtered;
  CheckSession session(std::move(options));
  emu::DeviceOptions device_options;
  device_options.threads = 1;
  device_options.memory_bytes = 64 << 20;
  device_options.observers = &session;
  auto device =
      std::move(emu::Device::create(*model::load_device_spec("h200"), device_options)).value();
  auto module = device->load(std::move(*ptx::parse(text, "random.ptx"))).value();
  const uint64_t a = *device->allocate(kWords * 4, emu::AllocationKind::device),
                 b = *device->allocate(kWords * 4, emu::AllocationKind::device);
  for (uint64_t p : {a, b}) std::memset(device->host_pointer(p, 4), 0, kWords * 4);
  device->host_access(a, kWords * 4, true);
  device->host_access(b, seed % 3 == 0 ? 1000 : kWords * 4, true);
  for (uint32_t launches = 0; launches < 2; ++launches) {
    emu::Launch launch;
    launch.kernel = device->find_kernel(*module, "k");
    launch.grid = {4, 1, 1}, launch.block = {128, 1, 1};
    launch.parameters.resize(16);
    std::memcpy(launch.parameters.data(), &a, 8);
    std::memcpy(launch.parameters.data() + 8, &b, 8);
    auto grid = std::move(device->start(launch)).value();
    while (grid->advance() == emu::GridRun::State::yielded) {
    }
    EXPECT_EQ(grid->fault().message, "");
  }
  Outcome out;
  out.checked = session.result().checked;
  for (const report::Finding& f : session.result().findings) {
    std::string line = f.kind + " x" + std::to_string(f.count) + " " +
                       std::to_string(uint32_t(f.severity)) + " " + f.where;
    for (const report::FindingSite& s : f.sites)
      line += " " + s.role + ":" + std::to_string(s.line);
    out.findings.push_back(line);
  }
  for (uint64_t p : {a, b}) {
    const auto* from = reinterpret_cast<const uint32_t*>(device->host_pointer(p, 4));
    out.memory.insert(out.memory.end(), from, from + kWords);
  }
  return out;
}

TEST(CheckFilter, ChangesNothing) {
  uint32_t clean = 0, found = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    const std::string text = kernel(seed);
    for (uint8_t tools : {uint8_t(kAllTools), uint8_t(seed % 2 ? kMemcheck : kInitcheck)}) {
      const Outcome plain = run(text, false, tools, seed), filtered = run(text, true, tools, seed);
      ASSERT_EQ(plain.findings, filtered.findings) << "seed " << seed << "\n" << text;
      ASSERT_EQ(plain.memory, filtered.memory) << "seed " << seed;
      ++(plain.findings.empty() ? clean : found);
    }
  }
  EXPECT_GT(clean, 20u);
  EXPECT_GT(found, 20u);
}

// A launch that is not looked at to its end says so, whenever something may have been missed; what
// it finds is some of what there is to find.
TEST(CheckFilter, ALaunchThatRunsOutOfRecordsSaysSo) {
  uint32_t said_so = 0, missed = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const std::string text = kernel(seed);
    auto places = [](const Outcome& out, bool& said) {  // without counts and first occurrences
      std::set<std::string> found;
      for (const std::string& f : out.findings) {
        if (f.starts_with("incomplete-check"))
          said = true;
        else
          found.insert(f.substr(0, f.find(" x")) + f.substr(f.find(":")));
      }
      return found;
    };
    bool said = false;
    const std::set<std::string> all = places(run(text, true, kRacecheck, seed), said);
    ASSERT_FALSE(said) << "seed " << seed;
    for (uint32_t records : {16u, 64u, 256u}) {
      said = false;
      const Outcome out = run(text, true, kRacecheck, seed, records);
      const std::set<std::string> some = places(out, said);
      EXPECT_EQ(said, out.checked.cut_launches != 0) << "seed " << seed;
      EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()))
          << "seed " << seed << ", " << records << " records\n"
          << text;
      if (some != all) {
        EXPECT_TRUE(said) << "seed " << seed << ", " << records << " records\n" << text;
        ++missed;
      }
      said_so += said;
    }
  }
  EXPECT_GT(said_so, 20u);
  EXPECT_GT(missed, 5u);
}

// Of many allocations that were freed, the latest are remembered, wherever they lay.
TEST(CheckSession, RemembersTheLatestFrees) {
  constexpr uint64_t kCount = 6000, kBase = 1 << 20;
  CheckSession session(CheckOptions{});
  for (uint64_t i = 0; i < kCount; ++i) {
    emu::Allocation a;
    a.address = kBase + (kCount - i) * 4096, a.bytes = 64, a.id = i + 1;
    session.allocated(a);
    session.freed(a);
  }
  session.invalid_free(kBase + 4096, false);           // the last
  session.invalid_free(kBase + kCount * 4096, false);  // the first
  const auto findings = session.result().findings;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_NE(findings[0].message.find("freed already"), std::string::npos) << findings[0].message;
  EXPECT_NE(findings[1].message.find("no allocation"), std::string::npos) << findings[1].message;
}

}  // namespace
}  // namespace tw::observe
