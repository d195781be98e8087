// The screens of `tilewright model devices`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/model_views.h"
#include "model/device_spec.h"
#include "model/roofline.h"
#include "report/text_table.h"

namespace tw::cli {
namespace {

using nlohmann::ordered_json;
using report::binary_bytes;
using report::TextTable;
using report::three_digits;

std::string number(double value) {
  return value == static_cast<double>(static_cast<int64_t>(value))
             ? fmt::format("{}", static_cast<int64_t>(value))
             : fmt::format("{}", value);
}

Result<View> list() {
  View view;
  ordered_json json{{"schema", 1}, {"command", "devices"}, {"devices", ordered_json::array()}};
  TextTable table("llrrrrrrr");
  table.add_row(
      {"id", "name", "cc", "SMs", "MHz", "DRAM GB/s", "L2", "FP32 TFLOP/s", "ridge FLOP/B"});
  const auto ids = model::device_ids();
  for (const std::string& id : ids) {
    auto device = model::load_device_spec(id);
    if (!device.ok()) return std::move(device).error();
    const double ridge = device->fp32_tflops * 1e3 / device->dram_gb_per_s;
    table.add_row({id, device->name,
                   fmt::format("{}.{}", device->compute_major, device->compute_minor),
                   fmt::format("{}", device->sm_count), number(device->clock_mhz),
                   number(device->dram_gb_per_s), binary_bytes(device->l2_bytes),
                   three_digits(device->fp32_tflops), three_digits(ridge)});
    json["devices"].push_back({{"id", id},
                               {"name", device->name},
                               {"sm_count", device->sm_count},
                               {"dram_gb_per_s", device->dram_gb_per_s},
                               {"fp32_tflops", device->fp32_tflops}});
  }
  view.text =
      fmt::format("{} GPUs are known; `model devices ID` shows every number and its source.\n\n",
                  ids.size()) +
      table.to_string();
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace

Result<View> view_devices(const std::string& id) {
  if (id.empty()) return list();
  auto device = model::load_device_spec(id);
  if (!device.ok()) return std::move(device).error();
  View view;
  ordered_json json{{"schema", 1},
                    {"command", "devices"},
                    {"id", device->id},
                    {"name", device->name},
                    {"numbers", ordered_json::array()}};
  view.text =
      fmt::format("{} ({}): {} numbers.\n\n", device->name, device->id, device->sources.size());
  TextTable table("llrl");
  table.add_row({"section", "key", "value", "source"});
  for (const auto& s : device->sources) {
    table.add_row({s.section, s.key, number(s.value), s.source});
    json["numbers"].push_back({{"section", s.section},
                               {"key", s.key},
                               {"value", s.value},
                               {"source", s.source},
                               {"file", s.file},
                               {"line", s.line}});
  }
  view.text += table.to_string();
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace tw::cli
