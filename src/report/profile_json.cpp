// A profile as JSON: every counter, per launch, kernel, line and instruction. docs/counters.md
// documents the keys.
#include <nlohmann/json.hpp>

#include "report/findings.h"
#include "report/profile.h"

namespace tw::report {
namespace {

using Json = nlohmann::ordered_json;

Json limit(uint32_t value) { return value == model::kNoLimit ? Json(nullptr) : Json(value); }

// Whole numbers without ".0".
Json number(double value) {
  if (value >= 0 && value < 9007199254740992.0 && value == double(uint64_t(value)))
    return uint64_t(value);
  return value;
}

Json counters(const Counters& c) {
  Json json;
  const auto put = [&](const char* key, double value) {
    if (value != 0) json[key] = number(value);
  };
  put("warp_instructions", c.warps), put("thread_instructions", c.lanes);
  put("flops_fp32", c.flops_fp32), put("flops_fp64", c.flops_fp64), put("flops_fp16", c.flops_fp16);
  put("flops_tensor", c.flops_tensor());
  put("global_ld_requests", c.ld_requests), put("global_ld_sectors", c.ld_sectors),
      put("global_ld_ideal_sectors", c.ld_ideal);
  put("global_ld_bytes", c.ld_bytes), put("global_ld_l2_sectors", c.ld_l2_sectors);
  put("global_st_requests", c.st_requests), put("global_st_sectors", c.st_sectors),
      put("global_st_ideal_sectors", c.st_ideal), put("global_st_bytes", c.st_bytes);
  put("shared_ld_requests", c.shared_ld_requests),
      put("shared_ld_wavefronts", c.shared_ld_wavefronts),
      put("shared_ld_conflicts", c.shared_ld_conflicts);
  put("ldmatrix_requests", c.ldmatrix_requests), put("ldmatrix_wavefronts", c.ldmatrix_wavefronts);
  put("shared_st_requests", c.shared_st_requests),
      put("shared_st_wavefronts", c.shared_st_wavefronts),
      put("shared_st_conflicts", c.shared_st_conflicts);
  put("local_requests", c.local_requests), put("local_sectors", c.local_sectors);
  put("atomic_requests", c.atomic_requests), put("atomic_sectors", c.atomic_sectors);
  put("shared_atomic_requests", c.shared_atomic_requests),
      put("shared_atomic_wavefronts", c.shared_atomic_wavefronts),
      put("shared_atomic_conflicts", c.shared_atomic_conflicts);
  put("barrier_arrivals", c.barriers);
  if (json.is_null()) json = Json::object();
  return json;
}

Json kernel(const KernelProfile& k) {
  Json json{{"kernel", k.name},       {"mangled", k.mangled}, {"device", k.device},
            {"block", k.block},       {"grids", k.grids},     {"largest_grid", k.grid},
            {"launches", k.launches}, {"blocks", k.blocks},   {"verdict", k.verdict}};
  json["resources"] = {{"registers", k.registers},
                       {"static_shared_bytes", k.static_shared_bytes},
                       {"dynamic_shared_bytes", k.dynamic_shared_bytes},
                       {"spill_store_bytes", k.spill_store_bytes},
                       {"spill_load_bytes", k.spill_load_bytes},
                       {"stack_bytes", k.stack_bytes},
                       {"estimated", k.resources_estimated}};
  const model::Occupancy& o = k.occupancy;
  Json limiters = Json::array();
  for (model::Limiter l : o.limiters) limiters.push_back(model::limiter_name(l));
  json["occupancy"] = {{"blocks_per_sm", o.blocks_per_sm},
                       {"warps_per_sm", o.warps_per_sm},
                       {"occupancy", o.fraction()},
                       {"limiters", limiters},
                       {"limits",
                        {{"warps", limit(o.limit_warps)},
                         {"blocks", limit(o.limit_blocks)},
                         {"registers", limit(o.limit_registers)},
                         {"shared", limit(o.limit_shared)},
                         {"barriers", limit(o.limit_barriers)}}}};
  Json bounds = Json::array();
  for (const model::Bound& b : k.prediction.bounds)
    bounds.push_back(
        {{"unit", b.unit}, {"seconds", b.seconds}, {"speed_of_light", b.speed_of_light}});
  json["prediction"] = {
      {"seconds", k.predicted_seconds},    {"launch_seconds", k.launch_seconds},
      {"bound", k.prediction.bound},       {"bounds", bounds},
      {"waves", k.prediction.waves.waves}, {"tail_blocks", k.prediction.waves.tail_blocks}};
  json["measured_seconds"] = k.measured_seconds > 0 ? Json(k.measured_seconds) : Json(nullptr);
  json["measured_launches"] = k.measured_launches;
  for (const LevelTraffic& t : k.traffic)
    json["traffic"][t.level] = {{"bytes", number(t.bytes)}, {"flops_per_byte", t.intensity}};
  json["shared_estimated"] = k.shared_estimated;
  json["counters"] = counters(k.total);
  for (const auto& [pipe, warps] : k.warps_by_pipe)
    json["pipes"][pipe] = {{"warp_instructions", number(warps)},
                           {"thread_instructions", number(k.lanes_by_pipe.at(pipe))}};
  for (const auto& [category, warps] : k.warps_by_category)
    json["categories"][category] = number(warps);
  json["lines"] = Json::array();
  for (const LineProfile& l : k.lines)
    json["lines"].push_back(
        {{"file", l.file}, {"line", l.line}, {"counters", counters(l.counters)}});
  json["instructions"] = Json::array();
  for (const InstructionProfile& i : k.instructions)
    json["instructions"].push_back({{"ptx", i.text},
                                    {"file", i.file},
                                    {"line", i.line},
                                    {"sass_instructions", i.sass},
                                    {"estimated", i.estimated},
                                    {"counters", counters(i.counters)}});
  json["banks"] = Json::array();
  for (const BankMap& b : k.banks)
    json["banks"].push_back({{"file", b.file},
                             {"line", b.line},
                             {"ptx", b.text},
                             {"width", b.width},
                             {"store", b.store},
                             {"atomic", b.atomic},
                             {"wavefronts", b.wavefronts},
                             {"ideal_wavefronts", b.groups},
                             {"lanes", b.mask},
                             {"addresses", b.address}});
  return json;
}

}  // namespace

std::string profile_json(const Profile& profile) {
  Json json{{"schema", kProfileSchema},   {"command", "profile"},
            {"program", profile.program}, {"arguments", profile.arguments},
            {"gpu", profile.device.id},   {"as_written", profile.as_written}};
  json["ptxas"] = profile.ptxas_note.empty() ? Json(true) : Json(profile.ptxas_note);
  json["measured_on"] =
      profile.measured_device.empty() ? Json(nullptr) : Json(profile.measured_device);
  if (!profile.measured_note.empty()) json["measured_note"] = profile.measured_note;
  json["findings"] =
      profile.check ? Json::parse(findings_json(*profile.check)).at("findings") : Json(nullptr);
  json["estimated_metrics"] = profile.estimated_metrics;
  json["roofs"] = Json::array();
  for (const model::MemoryRoof& r : model::memory_roofs(profile.device, model::Basis::kMeasured))
    json["roofs"].push_back({{"level", r.level}, {"gb_per_s", r.gb_per_s}, {"basis", r.basis}});
  json["launches"] = Json::array();
  for (const LaunchProfile& l : profile.launches) {
    Json metrics = Json::object();
    for (const auto& [name, value] : l.metrics)
      metrics[name] = value == double(model::kNoLimit) ? Json(nullptr) : number(value);
    json["launches"].push_back({{"id", l.id},
                                {"kernel", profile.kernels[l.kernel].name},
                                {"device", l.device},
                                {"grid", l.grid},
                                {"block", l.block},
                                {"dynamic_shared_bytes", l.dynamic_shared_bytes},
                                {"faulted", l.faulted},
                                {"metrics", metrics}});
  }
  json["kernels"] = Json::array();
  for (const KernelProfile& k : profile.kernels) json["kernels"].push_back(kernel(k));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tw::report
