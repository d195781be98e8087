#include "report/record.h"

#include <nlohmann/json.hpp>

namespace tw::report {
namespace {

using Json = nlohmann::json;

// A site's counts as one array, trailing zeros cut.
Json counts_to_json(const SiteCounts& c) {
  std::vector<uint64_t> v = {c.warps,         c.lanes,         c.requests,   c.access_lanes,
                             c.sectors,       c.ideal_sectors, c.l2_sectors, c.wavefronts[0],
                             c.wavefronts[1], c.wavefronts[2], c.groups[0],  c.groups[1],
                             c.groups[2],     c.address_bits,  c.lines};
  while (!v.empty() && v.back() == 0) v.pop_back();
  return v;
}

SiteCounts counts_from_json(const Json& json) {
  std::array<uint64_t, 15> v{};
  for (size_t i = 0; i < json.size() && i < v.size(); ++i) v[i] = json.at(i).get<uint64_t>();
  SiteCounts c;
  c.warps = v[0], c.lanes = v[1], c.requests = v[2], c.access_lanes = v[3], c.sectors = v[4],
  c.ideal_sectors = v[5], c.l2_sectors = v[6];
  for (size_t i = 0; i < 3; ++i) c.wavefronts[i] = v[7 + i], c.groups[i] = v[10 + i];
  c.address_bits = uint32_t(v[13]), c.lines = v[14];
  return c;
}

// Text that is not UTF-8 (a strange file name) must not end the program that is being profiled.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_line(const ModuleRecord& r) {
  return line_of({{"ptx", {{"id", r.id}, {"text", r.text}}}});
}

std::string to_line(const ProgramRecord& r) {
  Json sites = Json::array();
  for (const SiteInfo& s : r.sites)
    sites.push_back({s.function, s.instruction, s.text, s.file, s.line, s.category, s.pipe, s.op,
                     s.flops, int(s.traffic), s.width, s.barrier});
  return line_of({{"program",
                   {{"id", r.id},
                    {"ptx", r.ptx},
                    {"kernel", r.kernel},
                    {"device", r.device},
                    {"block", r.block},
                    {"static_shared", r.static_shared_bytes},
                    {"local", r.local_bytes},
                    {"registers", r.registers},
                    {"sites", sites}}}});
}

std::string to_line(const LaunchRecord& r) {
  Json sites = Json::array(), examples = Json::array();
  for (const SiteCounts& c : r.sites) sites.push_back(counts_to_json(c));
  for (const BankExample& e : r.examples)
    examples.push_back({e.site, e.mask, e.wavefronts, e.groups, e.address});
  return line_of({{"launch",
                   {{"program", r.program},
                    {"id", r.id},
                    {"grid", r.grid},
                    {"dynamic_shared", r.dynamic_shared_bytes},
                    {"faulted", r.faulted},
                    {"sites", sites},
                    {"examples", examples},
                    {"distinct", {r.read_sectors, r.written_sectors}},
                    {"l2", {r.l2_read_sectors, r.l2_written_sectors}},
                    {"dram", {r.dram_read_sectors, r.dram_written_sectors}}}}});
}

Result<Records> read_records(std::string_view text, const std::string& name) {
  Records records;
  uint32_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    try {
      const Json json = Json::parse(line);
      if (json.contains("ptx")) {
        const Json& m = json.at("ptx");
        records.modules.push_back({m.at("id").get<uint64_t>(), m.at("text").get<std::string>()});
      } else if (json.contains("program")) {
        const Json& p = json.at("program");
        ProgramRecord r;
        r.id = p.at("id").get<uint64_t>(), r.ptx = p.at("ptx").get<uint64_t>();
        r.kernel = p.at("kernel").get<std::string>(), r.device = p.at("device").get<uint32_t>();
        r.block = p.at("block").get<std::array<uint32_t, 3>>();
        r.static_shared_bytes = p.at("static_shared").get<uint64_t>(),
        r.local_bytes = p.at("local").get<uint64_t>();
        r.registers = p.at("registers").get<uint32_t>();
        for (const Json& s : p.at("sites")) {
          SiteInfo i;
          i.function = s.at(0).get<std::string>(), i.instruction = s.at(1).get<uint32_t>(),
          i.text = s.at(2).get<std::string>();
          i.file = s.at(3).get<std::string>(), i.line = s.at(4).get<uint32_t>();
          i.category = s.at(5).get<std::string>(), i.pipe = s.at(6).get<std::string>(),
          i.op = s.at(7).get<std::string>();
          i.flops = s.at(8).get<uint32_t>();
          const int traffic = s.at(9).get<int>();
          if (traffic < 0 || traffic > int(Traffic::shared_atomic))
            return Error{.message = "a record names no such traffic", .file = name, .line = number};
          i.traffic = Traffic(traffic), i.width = s.at(10).get<uint32_t>(),
          i.barrier = s.at(11).get<bool>();
          r.sites.push_back(std::move(i));
        }
        records.programs.push_back(std::move(r));
      } else if (json.contains("launch")) {
        const Json& l = json.at("launch");
        LaunchRecord r;
        r.program = l.at("program").get<uint64_t>(), r.id = l.at("id").get<uint64_t>();
        r.grid = l.at("grid").get<std::array<uint32_t, 3>>();
        r.dynamic_shared_bytes = l.at("dynamic_shared").get<uint64_t>(),
        r.faulted = l.at("faulted").get<bool>();
        for (const Json& s : l.at("sites")) r.sites.push_back(counts_from_json(s));
        for (const Json& e : l.at("examples"))
          r.examples.push_back({e.at(0).get<uint32_t>(), e.at(1).get<uint32_t>(),
                                e.at(2).get<uint32_t>(), e.at(3).get<uint32_t>(),
                                e.at(4).get<std::array<uint32_t, 32>>()});
        const auto pair = [&](const char* key, uint64_t& a, uint64_t& b) {
          a = l.at(key).at(0).get<uint64_t>(), b = l.at(key).at(1).get<uint64_t>();
        };
        pair("distinct", r.read_sectors, r.written_sectors);
        pair("l2", r.l2_read_sectors, r.l2_written_sectors);
        pair("dram", r.dram_read_sectors, r.dram_written_sectors);
        records.launches.push_back(std::move(r));
      } else {
        return Error{.message = "a record of unknown kind", .file = name, .line = number};
      }
    } catch (const Json::exception& e) {
      return Error{
          .message = std::string("a damaged record: ") + e.what(), .file = name, .line = number};
    }
  }
  return records;
}

}  // namespace tw::report
