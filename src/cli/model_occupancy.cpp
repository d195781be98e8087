// The screen of `tilewright model occupancy`.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/model_views.h"
#include "cli/quantity.h"
#include "model/occupancy.h"
#include "model/roofline.h"
#include "report/text_table.h"

namespace tw::cli {
namespace {

using model::kNoLimit;
using model::WhatIf;
using nlohmann::ordered_json;
using report::binary_bytes;
using report::percent;
using report::TextTable;

std::string blocks_text(uint32_t limit) {
  return limit == kNoLimit ? "no limit" : fmt::format("{}", limit);
}
ordered_json blocks_json(uint32_t limit) {
  return limit == kNoLimit ? ordered_json(nullptr) : ordered_json(limit);
}

std::string limiters_text(const model::Occupancy& o) {
  std::string text;
  for (std::size_t i = 0; i < o.limiters.size(); ++i) {
    if (i != 0) text += i + 1 == o.limiters.size() ? " and " : ", ";
    text += model::limiter_name(o.limiters[i]);
  }
  return text + (o.limiters.size() == 1 && o.limiters[0] == model::Limiter::kShared ? " limits"
                                                                                    : " limit");
}

// The rows where the number of blocks changes, each with its largest value.
std::vector<WhatIf> steps(const std::vector<WhatIf>& rows) {
  std::vector<WhatIf> kept;
  for (const WhatIf& row : rows) {
    if (!kept.empty() && kept.back().blocks_per_sm == row.blocks_per_sm)
      kept.back() = row;
    else
      kept.push_back(row);
  }
  return kept;
}

void add_what_if(TextTable& table, const std::string& title, const std::vector<WhatIf>& rows,
                 std::size_t most, const std::function<std::string(uint64_t)>& value) {
  std::vector<std::string> head{title}, blocks{"  blocks per SM"}, share{"  occupancy"};
  for (std::size_t i = 0; i < rows.size() && i < most; ++i) {
    head.push_back(value(rows[i].value));
    blocks.push_back(fmt::format("{}", rows[i].blocks_per_sm));
    share.push_back(percent(rows[i].fraction));
  }
  for (auto* line : {&head, &blocks, &share}) table.add_row(*line);
}

ordered_json what_if_json(const std::vector<WhatIf>& rows) {
  ordered_json list = ordered_json::array();
  for (const WhatIf& row : rows)
    list.push_back({{"value", row.value},
                    {"blocks_per_sm", row.blocks_per_sm},
                    {"warps_per_sm", row.warps_per_sm},
                    {"occupancy", row.fraction}});
  return list;
}

// "registers <= 40 would allow 6 blocks (75 %)": each resource that limits, changed alone.
std::string advice(const model::DeviceSpec& device, const model::BlockResources& block,
                   const model::Occupancy& now) {
  std::string text;
  auto consider = [&](const std::vector<WhatIf>& rows,
                      const std::function<std::string(uint64_t)>& say) {
    const WhatIf* best = nullptr;  // the largest value that gives more than now
    for (const WhatIf& row : rows)
      if (row.blocks_per_sm > now.blocks_per_sm && (best == nullptr || row.value > best->value))
        best = &row;
    if (best != nullptr)
      text += fmt::format("  {} would give {} blocks per SM, {}\n", say(best->value),
                          best->blocks_per_sm, percent(best->fraction));
  };
  consider(vary_registers(device, block),
           [](uint64_t v) { return fmt::format("at most {} registers per thread", v); });
  consider(vary_shared(device, block),
           [](uint64_t v) { return "at most " + binary_bytes(v) + " of shared memory"; });
  return text;
}

}  // namespace

Result<View> view_occupancy(const OccupancyQuery& query) {
  auto device = model::load_device_spec(query.gpu);
  if (!device.ok()) return std::move(device).error();
  auto shared = parse_bytes(query.shared);
  if (!shared.ok()) return std::move(shared).error();
  uint64_t grid = 0;
  if (!query.blocks.empty()) {
    auto blocks = parse_count(query.blocks);
    if (!blocks.ok()) return std::move(blocks).error();
    if (*blocks == 0) return Error{"a grid has at least one block", "", 0, 0};
    grid = *blocks;
  }
  const model::BlockResources block{query.threads, query.registers, *shared, query.barriers};
  const model::Occupancy o = occupancy(*device, block);
  if (o.blocks_per_sm == 0)
    return Error{"this block cannot run on " + device->name + ": " + o.why_zero, "", 0, 0};

  View view;
  view.text = fmt::format("{} {} of {} threads per SM on {}: {} of {} warps, occupancy {}; {}.\n",
                          o.blocks_per_sm, o.blocks_per_sm == 1 ? "block" : "blocks", block.threads,
                          device->name, o.warps_per_sm, o.max_warps_per_sm, percent(o.fraction()),
                          limiters_text(o));
  const model::Waves w = waves(*device, {grid, o.blocks_per_sm});
  if (grid != 0)
    view.text += fmt::format(
        "{} blocks make {} waves of {}, {}; with {} on the busiest SM, {} of the SMs' time is "
        "used.\n",
        grid, report::three_digits(w.waves), w.blocks_per_wave,
        w.tail_blocks == 0 ? std::string("no tail")
                           : fmt::format("the last one holds {}", w.tail_blocks),
        w.busiest_sm_blocks, percent(w.balance));
  view.text += '\n';
  TextTable limits("lrll");
  limits.add_row({"resource", "blocks per SM", "a block takes", "an SM has"});
  limits.add_row({"warps", blocks_text(o.limit_warps), fmt::format("{}", o.warps_per_block),
                  fmt::format("{}", o.max_warps_per_sm)});
  limits.add_row(
      {"registers", blocks_text(o.limit_registers),
       fmt::format("{} ({} per thread)", o.registers_per_block, block.registers_per_thread),
       fmt::format("{}", device->registers_per_sm)});
  limits.add_row({"shared memory", blocks_text(o.limit_shared),
                  fmt::format("{} ({} and {} for the system)", binary_bytes(o.shared_per_block),
                              binary_bytes(block.shared_bytes),
                              binary_bytes(device->shared_reserved_per_block)),
                  binary_bytes(device->shared_per_sm)});
  limits.add_row(
      {"blocks", blocks_text(o.limit_blocks), "1", fmt::format("{}", device->max_blocks_per_sm)});
  if (o.limit_barriers != kNoLimit)
    limits.add_row({"barriers", blocks_text(o.limit_barriers), fmt::format("{}", block.barriers),
                    fmt::format("{}", device->barriers_per_sm)});
  view.text += limits.to_string();
  if (block.shared_bytes > device->shared_per_block)
    view.text +=
        fmt::format("\n  More than {} needs cudaFuncAttributeMaxDynamicSharedMemorySize.\n",
                    binary_bytes(device->shared_per_block));
  if (const std::string text = advice(*device, block, o); !text.empty()) view.text += '\n' + text;

  const std::vector<WhatIf> threads = vary_threads(*device, block);
  const std::vector<WhatIf> registers = steps(vary_registers(*device, block));
  const std::vector<WhatIf> shared_steps = steps(vary_shared(*device, block));
  std::vector<WhatIf> common;
  for (const WhatIf& row : threads)
    for (uint32_t size : {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024})
      if (row.value == size) common.push_back(row);
  TextTable what_if("lrrrrrrrrrr");
  auto plain = [](uint64_t v) { return fmt::format("{}", v); };
  what_if.add_row({"What if"});
  add_what_if(what_if, "threads =", common, 10, plain);
  add_what_if(what_if, "registers <=", registers, 10, plain);
  add_what_if(what_if, "shared <=", shared_steps, 10, [](uint64_t v) {
    return v < 1024 ? fmt::format("{}", v) : fmt::format("{}K", v / 1024);
  });
  view.text += '\n' + what_if.to_string();

  ordered_json json{{"schema", 1}, {"command", "occupancy"}, {"gpu", device->id}};
  json["input"] = {{"threads", block.threads},
                   {"registers", block.registers_per_thread},
                   {"shared_bytes", block.shared_bytes},
                   {"barriers", block.barriers}};
  json["blocks_per_sm"] = o.blocks_per_sm;
  json["warps_per_sm"] = o.warps_per_sm;
  json["occupancy"] = o.fraction();
  json["limiters"] = ordered_json::array();
  for (model::Limiter limiter : o.limiters)
    json["limiters"].push_back(model::limiter_name(limiter));
  json["limits"] = {{"warps", blocks_json(o.limit_warps)},
                    {"blocks", blocks_json(o.limit_blocks)},
                    {"registers", blocks_json(o.limit_registers)},
                    {"shared_memory", blocks_json(o.limit_shared)},
                    {"barriers", blocks_json(o.limit_barriers)}};
  json["allocated"] = {{"registers_per_block", o.registers_per_block},
                       {"shared_bytes_per_block", o.shared_per_block}};
  json["what_if"] = {{"threads", what_if_json(threads)},
                     {"registers", what_if_json(registers)},
                     {"shared_bytes", what_if_json(shared_steps)}};
  if (grid != 0) {
    json["grid"] = {{"blocks", grid},
                    {"waves", w.waves},
                    {"blocks_per_wave", w.blocks_per_wave},
                    {"tail_blocks", w.tail_blocks},
                    {"wave_efficiency", w.wave_efficiency},
                    {"balance", w.balance}};
  }
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace tw::cli
