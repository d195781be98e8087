#include "report/record.h"

#include <gtest/gtest.h>

namespace tw::report {
namespace {

ProgramRecord program() {
  ProgramRecord p;
  p.id = uint64_t(1) << 40, p.ptx = 3, p.kernel = "_Z1kPf", p.device = 3, p.block = {16, 16, 1},
  p.static_shared_bytes = 2048, p.registers = 30;
  SiteInfo s;
  s.function = p.kernel, s.instruction = 7, s.text = "ld.shared.f32 %f1, [%r1];",
  s.file = "a \"b\".cu", s.line = 9;
  s.category = "load", s.pipe = "lsu", s.traffic = Traffic::shared_load, s.width = 4;
  p.sites = {s, SiteInfo{}};
  return p;
}

LaunchRecord launch() {
  LaunchRecord l;
  l.program = uint64_t(1) << 40, l.id = 5, l.grid = {2, 3, 4}, l.read_sectors = 10,
  l.dram_written_sectors = uint64_t(1) << 50;
  l.sites.resize(2);
  l.sites[0].warps = 100, l.sites[0].wavefronts = {1, 2, 3}, l.sites[0].groups = {1, 1, 1},
  l.sites[0].address_bits = 12;
  BankExample e;
  e.site = 0, e.mask = 3, e.wavefronts = 2, e.groups = 1, e.address[1] = 128;
  l.examples = {e};
  return l;
}

TEST(Record, WrittenAndReadIsTheSame) {
  const ModuleRecord module{3, ".version 9.0\n\t\"quoted\""};
  const Result<Records> read =
      read_records(to_line(module) + to_line(program()) + to_line(launch()), "records");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->modules, std::vector{module});
  EXPECT_EQ(read->programs, std::vector{program()});
  EXPECT_EQ(read->launches, std::vector{launch()});
}

TEST(Record, AnUnfinishedLastLineIsLeftOut) {
  const std::string whole = to_line(program()), cut = to_line(launch());
  const Result<Records> read = read_records(whole + cut.substr(0, cut.size() / 2), "records");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->programs.size(), 1u);
  EXPECT_TRUE(read->launches.empty());
}

TEST(Record, DamageIsAnErrorWithItsLine) {
  for (const char* bad : {"{\n", "{\"launch\": {}}\n", "{\"other\": 1}\n",
                          "{\"program\": {\"id\": -1}}\n", "nonsense\n"}) {
    const Result<Records> read = read_records(to_line(program()) + bad, "records");
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().line, 2u);
  }
}

TEST(Record, TextThatIsNotUtf8IsReplaced) {
  ProgramRecord p = program();
  p.sites[0].file = "bad\xff.cu";
  EXPECT_TRUE(read_records(to_line(p), "records").ok());
}

}  // namespace
}  // namespace tw::report
