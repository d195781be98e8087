// The screens of `tilewright model traffic gemm|transpose|vector-add`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/model_views.h"
#include "cli/quantity.h"
#include "model/roofline.h"
#include "model/traffic.h"
#include "report/text_table.h"

namespace tw::cli {
namespace {

using nlohmann::ordered_json;
using report::decimal_bytes;
using report::duration;
using report::percent;
using report::TextTable;
using report::three_digits;

// The roofs that paper traffic meets: DRAM, and the FP32 pipe.
struct Roofs {
  model::DeviceSpec device;
  model::MemoryRoof dram;
  model::PipeRoof fp32;

  double dram_seconds(double bytes) const { return bytes / (dram.gb_per_s * 1e9); }
};

Result<Roofs> roofs_of(const std::string& gpu) {
  auto device = model::load_device_spec(gpu);
  if (!device.ok()) return std::move(device).error();
  return Roofs{*device, memory_roofs(*device, model::Basis::kDatasheet).front(),
               pipe_roofs(*device, model::Basis::kDatasheet).front()};
}

}  // namespace

Result<View> view_gemm_traffic(const GemmQuery& query) {
  auto roofs = roofs_of(query.gpu);
  if (!roofs.ok()) return std::move(roofs).error();
  model::GemmShape shape;
  shape.element_bytes = query.element;
  for (auto [text, slot] :
       {std::pair{&query.m, &shape.m}, {&query.n, &shape.n}, {&query.k, &shape.k}}) {
    auto count = parse_count(*text);
    if (!count.ok()) return std::move(count).error();
    *slot = *count;
  }
  auto naive = gemm_traffic(shape);
  if (!naive.ok()) return std::move(naive).error();
  const auto naive_sectors = model::naive_gemm_load_sectors(shape, 16, 16);
  const bool tiled_given = !query.tile.empty();
  model::GemmTraffic tiled;
  std::string tile_name;
  if (tiled_given) {
    auto tile = parse_extents(query.tile);
    if (!tile.ok()) return std::move(tile).error();
    shape.tile_m = tile->value[0];
    shape.tile_n = tile->count >= 2 ? tile->value[1] : shape.tile_m;
    shape.tile_k = tile->count == 3 ? tile->value[2] : tile->count == 1 ? shape.tile_m : 16;
    if (shape.tile_m == 0) return Error{"a tile side must be at least 1", "", 0, 0};
    auto traffic = gemm_traffic(shape);
    if (!traffic.ok()) return std::move(traffic).error();
    tiled = *traffic;
    tile_name = tile->count == 1
                    ? fmt::format("tile {}", shape.tile_m)
                    : fmt::format("tile {}x{}x{}", shape.tile_m, shape.tile_n, shape.tile_k);
  }
  const double ridge_point = ridge(roofs->fp32, roofs->dram);
  const model::GemmTraffic& shown = tiled_given ? tiled : *naive;
  const bool memory_bound = shown.intensity < ridge_point;

  View view;
  const std::string problem = fmt::format("GEMM {} x {} x {}, {}-byte elements", shape.m, shape.n,
                                          shape.k, shape.element_bytes);
  if (tiled_given)
    view.text =
        fmt::format("{}: {} reads {} instead of {}, {}x less, at {} FLOP/B; ", problem, tile_name,
                    decimal_bytes(tiled.read_bytes), decimal_bytes(naive->read_bytes),
                    three_digits(tiled.reuse), three_digits(tiled.intensity));
  else
    view.text = fmt::format("{}: the naive kernel reads {} at {} FLOP/B; ", problem,
                            decimal_bytes(naive->read_bytes), three_digits(naive->intensity));
  view.text += fmt::format(
      "{} the ridge point of {} ({} FLOP/B), so {} TFLOP/s at most if no cache helps.\n",
      memory_bound ? "below" : "above", roofs->device.name, three_digits(ridge_point),
      three_digits(attainable_tflops(roofs->fp32, roofs->dram, shown.intensity)));

  TextTable table("lrrrrrr");
  table.add_row(
      {"kernel", "reads", "writes", "FLOP/B read", "DRAM time", "TFLOP/s at most", "load sectors"});
  ordered_json json{{"schema", 1}, {"command", "traffic gemm"}, {"gpu", roofs->device.id}};
  json["input"] = {
      {"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"element_bytes", shape.element_bytes}};
  json["flops"] = naive->flops;
  json["ridge"] = ridge_point;
  json["kernels"] = ordered_json::array();
  auto add = [&](const std::string& name, double reads, double writes, double intensity,
                 double sectors) {
    const double attainable = attainable_tflops(roofs->fp32, roofs->dram, intensity);
    table.add_row({name, decimal_bytes(reads), decimal_bytes(writes), three_digits(intensity),
                   duration(roofs->dram_seconds(reads + writes)), three_digits(attainable),
                   sectors < 0      ? "-"
                   : sectors < 1e15 ? fmt::format("{:.0f}", sectors)
                                    : fmt::format("{:.3g}", sectors)});
    ordered_json kernel{{"kernel", name},
                        {"read_bytes", reads},
                        {"write_bytes", writes},
                        {"intensity", intensity},
                        {"attainable_tflops", attainable}};
    kernel["load_sectors"] = sectors >= 0 ? ordered_json(sectors) : ordered_json(nullptr);
    json["kernels"].push_back(std::move(kernel));
  };
  add("naive, 16x16 block", naive->read_bytes, naive->write_bytes, naive->intensity,
      naive_sectors.ok() ? *naive_sectors : -1);
  if (tiled_given)
    add(tile_name, tiled.read_bytes, tiled.write_bytes, tiled.intensity, tiled.load_sectors);
  const double once = naive->compulsory_bytes - naive->write_bytes;
  add("every input once", once, naive->write_bytes, naive->flops / once, -1);
  view.text += '\n' + table.to_string();
  view.text += fmt::format("\n  {} GFLOP. FLOP/B leaves the write of C out, as textbooks do",
                           three_digits(naive->flops * 1e-9));
  if (tiled_given) {
    view.text +=
        fmt::format("; with it the tiled kernel has {}", three_digits(tiled.intensity_with_writes));
    json["tile"] = {{"m", shape.tile_m},
                    {"n", shape.tile_n},
                    {"k", shape.tile_k},
                    {"blocks", tiled.blocks},
                    {"steps", tiled.steps},
                    {"elements_per_step", tiled.elements_per_step},
                    {"shared_bytes", tiled.shared_bytes},
                    {"reuse", tiled.reuse}};
  }
  view.text += ".\n";
  if (tiled_given)
    view.text += fmt::format(
        "  {} blocks, {} steps along k, {:.0f} elements loaded a step, {} of shared memory a "
        "block.\n",
        tiled.blocks, tiled.steps, tiled.elements_per_step,
        report::binary_bytes(static_cast<uint64_t>(tiled.shared_bytes)));
  view.json = json.dump(2) + "\n";
  return view;
}

Result<View> view_transpose_traffic(const TransposeQuery& query) {
  auto roofs = roofs_of(query.gpu);
  if (!roofs.ok()) return std::move(roofs).error();
  auto m = parse_count(query.m), n = parse_count(query.n);
  if (!m.ok()) return std::move(m).error();
  if (!n.ok()) return std::move(n).error();
  model::TransposeShape shape{*m, *n, query.element, false, 0};
  auto naive = transpose_traffic(shape);
  if (!naive.ok()) return std::move(naive).error();

  View view;
  view.text = fmt::format(
      "Transpose {} x {}, {}-byte elements: {} read and written, {} at best on {}; the naive "
      "kernel writes at {} "
      "efficiency and moves {}.\n",
      shape.m, shape.n, shape.element_bytes, decimal_bytes(naive->bytes),
      duration(roofs->dram_seconds(naive->bytes)), roofs->device.name,
      percent(naive->write_efficiency), decimal_bytes(naive->moved_bytes));
  ordered_json json{{"schema", 1}, {"command", "traffic transpose"}, {"gpu", roofs->device.id}};
  json["input"] = {{"m", shape.m}, {"n", shape.n}, {"element_bytes", shape.element_bytes}};
  json["bytes"] = naive->bytes;
  json["kernels"] = ordered_json::array();
  TextTable table("lrrrrrr");
  table.add_row({"kernel", "read sectors", "write sectors", "write efficiency", "moved",
                 "shared wavefronts st", "ld"});
  auto add = [&](const std::string& name, const model::TransposeTraffic& t, bool tiled) {
    table.add_row({name, fmt::format("{:.0f}", t.read_sectors_per_request),
                   fmt::format("{:.0f}", t.write_sectors_per_request), percent(t.write_efficiency),
                   decimal_bytes(t.moved_bytes),
                   tiled ? fmt::format("{}", t.store.wavefronts) : "-",
                   tiled ? fmt::format("{}", t.load.wavefronts) : "-"});
    json["kernels"].push_back({{"kernel", name},
                               {"read_sectors_per_request", t.read_sectors_per_request},
                               {"write_sectors_per_request", t.write_sectors_per_request},
                               {"ideal_sectors_per_request", t.ideal_sectors_per_request},
                               {"write_efficiency", t.write_efficiency},
                               {"moved_bytes", t.moved_bytes},
                               {"shared_store_wavefronts", t.store.wavefronts},
                               {"shared_load_wavefronts", t.load.wavefronts},
                               {"shared_bytes", t.shared_bytes}});
  };
  add("naive", *naive, false);
  shape.tiled = true;
  auto tiled = transpose_traffic(shape);
  if (!tiled.ok()) return std::move(tiled).error();
  add("tiled [32][32]", *tiled, true);
  shape.pad = query.pad;
  auto padded = transpose_traffic(shape);
  if (!padded.ok()) return std::move(padded).error();
  if (query.pad != 0) add(fmt::format("tiled [32][{}]", 32 + query.pad), *padded, true);
  view.text += '\n' + table.to_string();
  view.text += fmt::format(
      "\n  Per request of 32 lanes; {:.0f} sectors of 32 bytes would hold what it asks for.\n",
      naive->ideal_sectors_per_request);
  view.json = json.dump(2) + "\n";
  return view;
}

Result<View> view_vector_add_traffic(const VectorAddQuery& query) {
  auto roofs = roofs_of(query.gpu);
  if (!roofs.ok()) return std::move(roofs).error();
  auto n = parse_count(query.n);
  if (!n.ok()) return std::move(n).error();
  auto traffic = model::vector_add_traffic(*n, query.element);
  if (!traffic.ok()) return std::move(traffic).error();
  const double best = roofs->dram_seconds(traffic->bytes);
  const double ridge_point = ridge(roofs->fp32, roofs->dram);
  View view;
  ordered_json json{{"schema", 1}, {"command", "traffic vector-add"}, {"gpu", roofs->device.id}};
  json["input"] = {{"n", *n}, {"element_bytes", query.element}};
  json["bytes"] = traffic->bytes;
  json["flops"] = traffic->flops;
  json["intensity"] = traffic->intensity;
  json["ridge"] = ridge_point;
  json["best_seconds"] = best;
  view.text = fmt::format(
      "Vector add of {} elements moves {} at {} FLOP/B: memory-bound on {} (ridge point {} "
      "FLOP/B), {} at best.\n",
      *n, decimal_bytes(traffic->bytes), three_digits(traffic->intensity), roofs->device.name,
      three_digits(ridge_point), duration(best));
  if (!query.time.empty()) {
    auto seconds = parse_seconds(query.time);
    if (!seconds.ok()) return std::move(seconds).error();
    const double gb_per_s = traffic->bytes / *seconds * 1e-9;
    view.text += fmt::format("In {} it moves {:.0f} GB/s, {} of the {:.0f} GB/s of DRAM.\n",
                             duration(*seconds), gb_per_s, percent(gb_per_s / roofs->dram.gb_per_s),
                             roofs->dram.gb_per_s);
    json["gb_per_s"] = gb_per_s;
    json["speed_of_light"] = gb_per_s / roofs->dram.gb_per_s;
  }
  TextTable table("lrr");
  table.add_row({"", "bytes", "at DRAM speed"});
  table.add_row({"read", decimal_bytes(traffic->bytes * 2 / 3), duration(best * 2 / 3)});
  table.add_row({"written", decimal_bytes(traffic->bytes / 3), duration(best / 3)});
  view.text += '\n' + table.to_string();
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace tw::cli
