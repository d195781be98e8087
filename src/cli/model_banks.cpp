// The screen of `tilewright model banks`.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/model_views.h"
#include "cli/quantity.h"
#include "model/bank_map.h"
#include "report/text_table.h"

namespace tw::cli {
namespace {

using model::BankMap;
using model::BankSurvey;
using model::SharedArray;
using model::Walk;
using nlohmann::ordered_json;
using report::TextTable;
using shadow::SharedAccess;

// 0 1 2 5 -> "0-2 5"
std::string ranges(const std::vector<uint32_t>& lanes) {
  std::string text;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t end = i;
    while (end + 1 < lanes.size() && lanes[end + 1] == lanes[end] + 1) ++end;
    if (!text.empty()) text += ' ';
    text += end == i ? fmt::format("{}", lanes[i]) : fmt::format("{}-{}", lanes[i], lanes[end]);
    i = end + 1;
  }
  return text;
}

struct BankUse {
  std::set<uint32_t> words;
  std::vector<uint32_t> lanes;
};

// Who wants what from each bank in the pass that takes longest.
std::map<uint32_t, BankUse> worst_pass(const SharedArray& array, const BankMap& map,
                                       uint32_t& first_lane, uint32_t& lanes) {
  const auto passes = std::max(1u, map.count.groups);
  lanes =
      std::max(shadow::lanes_per_group(array.access_bytes()),
               std::has_single_bit(passes) && map.mask == ~0u ? shadow::kWarpLanes / passes : 0u);
  std::map<uint32_t, BankUse> worst;
  std::size_t depth = 0;
  for (uint32_t first = 0; first < shadow::kWarpLanes; first += lanes) {
    std::map<uint32_t, BankUse> banks;
    std::size_t here = 0;
    for (uint32_t lane = first; lane < first + lanes; ++lane) {
      if ((map.mask >> lane & 1) == 0) continue;
      for (uint32_t byte = 0; byte < std::max(4u, array.access_bytes()); byte += 4) {
        const uint32_t word = map.lanes[lane].address / 4 + byte / 4;
        BankUse& use = banks[word % shadow::kBanks];
        use.words.insert(word);
        if (use.lanes.empty() || use.lanes.back() != lane) use.lanes.push_back(lane);
        here = std::max(here, use.words.size());
      }
    }
    if (here > depth) {
      depth = here;
      worst = std::move(banks);
      first_lane = first;
    }
  }
  return worst;
}

std::string bank_table(const std::map<uint32_t, BankUse>& banks) {
  std::size_t conflicting = 0;
  for (const auto& [bank, use] : banks) conflicting += use.words.size() > 1;
  if (conflicting == 0) {
    TextTable grid("llllllll");
    std::vector<std::string> line;
    for (uint32_t bank = 0; bank < shadow::kBanks; ++bank) {
      const auto use = banks.find(bank);
      line.push_back(
          fmt::format("{}: {}", bank, use == banks.end() ? "-" : ranges(use->second.lanes)));
      if (line.size() == 8) grid.add_row(std::exchange(line, {}));
    }
    return "  Bank: lanes it serves\n" + grid.to_string();
  }
  constexpr std::size_t kMostRows = 8;
  TextTable table("rrl");
  table.add_row({"bank", "words", "lanes that meet there"});
  std::size_t shown = 0;
  for (const auto& [bank, use] : banks) {
    if (use.words.size() < 2) continue;
    if (shown++ == kMostRows) break;
    table.add_row(
        {fmt::format("{}", bank), fmt::format("{}", use.words.size()), ranges(use.lanes)});
  }
  std::string text = table.to_string();
  if (conflicting > kMostRows)
    text += fmt::format("  and {} more banks with a conflict\n", conflicting - kMostRows);
  return text;
}

}  // namespace

Result<View> view_banks(const BanksQuery& query) {
  auto extents = parse_extents(query.array);
  if (!extents.ok()) return std::move(extents).error();
  if (extents->count != 2) return Error{"--array needs rows x columns, such as 32x32", "", 0, 0};
  if (query.access != "row" && query.access != "column")
    return Error{"--access is row or column", "", 0, 0};
  if (query.swizzle != "none" && query.swizzle != "xor")
    return Error{"--swizzle is none or xor", "", 0, 0};
  SharedArray array;
  array.rows = extents->value[0];
  array.columns = extents->value[1];
  array.element_bytes = query.element;
  array.vector = query.vector;
  array.pad = query.pad;
  array.xor_swizzle = query.swizzle == "xor";
  if (Status status = check_array(array); !status.ok()) return std::move(status).error();
  const Walk walk = query.access == "row" ? Walk::kRow : Walk::kColumn;
  const SharedAccess access = query.store ? SharedAccess::kStore : SharedAccess::kLoad;
  const BankSurvey survey = survey_banks(array, walk, access);
  BankMap map = survey.worst;
  uint32_t position = survey.worst_first;
  if (query.position >= 0) {
    const uint32_t end = walk == Walk::kColumn ? array.columns : array.rows;
    const uint32_t step = walk == Walk::kColumn ? array.vector : 1;
    if (query.position >= end || query.position % step != 0)
      return Error{fmt::format("--position {} is not a {} of the array that an access can start at",
                               query.position, query.access),
                   "", 0, 0};
    position = static_cast<uint32_t>(query.position);
    map = map_banks(array, walk, position, access);
  }

  View view;
  const std::string layout = fmt::format(
      "{} x {} array of {}-byte elements{}{}", array.rows, array.columns, array.element_bytes,
      array.pad != 0 ? fmt::format(", rows padded by {}", array.pad) : "",
      array.xor_swizzle ? ", XOR swizzle" : "");
  const std::string what = fmt::format(
      "{} {} of a {}{}", walk == Walk::kRow ? "Row" : "Column", query.store ? "store" : "load",
      layout, array.vector != 1 ? fmt::format(", {} elements a lane", array.vector) : "");
  if (map.misaligned_lanes != 0)
    view.text = fmt::format(
        "{}: misaligned address. {} of 32 lanes do not start at a multiple of {} bytes: the access "
        "faults (bank arithmetic alone would give {} wavefronts).\n",
        what, std::popcount(map.misaligned_lanes), array.access_bytes(), map.count.wavefronts);
  else if (map.count.conflicts() == 0)
    view.text = fmt::format("{}: no bank conflict, {} wavefront{} per request.\n", what,
                            map.count.wavefronts, map.count.wavefronts == 1 ? "" : "s");
  else
    view.text = fmt::format("{}: {}-way bank conflict, {} wavefronts per request instead of {}.\n",
                            what, map.ways, map.count.wavefronts, map.count.groups);
  if (map.count.conflicts() != 0 || map.misaligned_lanes != 0) {
    const int pad = conflict_free_pad(array, walk, access);
    SharedArray swizzled = array;
    swizzled.pad = 0;
    swizzled.xor_swizzle = true;
    const bool swizzle_helps = check_array(swizzled).ok() && !array.xor_swizzle &&
                               survey_banks(swizzled, walk, access).worst.count.conflicts() == 0;
    std::string cure;
    if (pad >= 0)
      cure = pad == 0 ? "No padding"
                      : fmt::format(
                            "Padding each row by {} element{} ({} more)", pad, pad == 1 ? "" : "s",
                            report::binary_bytes(uint64_t{array.rows} * static_cast<uint32_t>(pad) *
                                                 array.element_bytes));
    if (swizzle_helps)
      cure += cure.empty() ? "The XOR swizzle" : ", or the XOR swizzle (no bytes more),";
    view.text +=
        cure.empty() ? "No padding up to 32 elements removes it.\n" : cure + " removes it.\n";
  }

  uint32_t first_lane = 0, lanes = 32;
  const auto banks = worst_pass(array, map, first_lane, lanes);
  view.text += fmt::format("\n  {} {}{}\n", walk == Walk::kRow ? "Row" : "Column", position,
                           lanes == 32 ? ""
                                       : fmt::format(", lanes {}-{}, one of {} passes", first_lane,
                                                     first_lane + lanes - 1, map.count.groups));
  view.text += bank_table(banks);
  if (survey.worst.count.wavefronts == survey.best.count.wavefronts)
    view.text += fmt::format("\n  The same at all {} {}s.\n", survey.positions, query.access);
  else
    view.text +=
        fmt::format("\n  Over {} {}s: {} wavefronts at worst ({} {}), {} at best, {} on average.\n",
                    survey.positions, query.access, survey.worst.count.wavefronts, query.access,
                    survey.worst_first, survey.best.count.wavefronts,
                    report::three_digits(survey.mean_wavefronts));

  TextTable layouts("lrll");
  layouts.add_row({"layout", "bytes", "column access, worst", "row access, worst"});
  ordered_json alternatives = ordered_json::array();
  auto add_layout = [&](std::string name, SharedArray a) {
    if (!check_array(a).ok()) return;
    auto cell = [&](Walk w) {
      const BankSurvey s = survey_banks(a, w, access);
      if (s.misaligned_positions != 0) return std::string("misaligned");
      return fmt::format("{} wavefront{}", s.worst.count.wavefronts,
                         s.worst.count.wavefronts == 1 ? "" : "s");
    };
    const bool chosen = a.pad == array.pad && a.xor_swizzle == array.xor_swizzle;
    layouts.add_row({name + (chosen ? " *" : ""), fmt::format("{}", a.bytes()), cell(Walk::kColumn),
                     cell(Walk::kRow)});
    alternatives.push_back(
        {{"layout", name},
         {"bytes", a.bytes()},
         {"column_wavefronts", survey_banks(a, Walk::kColumn, access).worst.count.wavefronts},
         {"row_wavefronts", survey_banks(a, Walk::kRow, access).worst.count.wavefronts},
         {"misaligned", survey_banks(a, walk, access).misaligned_positions != 0}});
  };
  SharedArray other = array;
  other.xor_swizzle = false;
  std::set<uint32_t> pads{0, 1, 2, 4, array.pad};
  for (uint32_t pad : pads) {
    other.pad = pad;
    add_layout(pad == 0 ? "no padding" : fmt::format("pad {}", pad), other);
  }
  other.pad = 0;
  other.xor_swizzle = true;
  add_layout("XOR swizzle", other);
  view.text += '\n' + layouts.to_string();

  ordered_json json{{"schema", 1}, {"command", "banks"}};
  json["input"] = {{"rows", array.rows},
                   {"columns", array.columns},
                   {"element_bytes", array.element_bytes},
                   {"vector", array.vector},
                   {"pad", array.pad},
                   {"swizzle", query.swizzle},
                   {"access", query.access},
                   {"op", query.store ? "store" : "load"}};
  json["position"] = position;
  json["wavefronts"] = map.count.wavefronts;
  json["ideal_wavefronts"] = map.count.groups;
  json["conflicts"] = map.count.conflicts();
  json["ways"] = map.ways;
  json["misaligned_lanes"] = std::popcount(map.misaligned_lanes);
  json["survey"] = {{"positions", survey.positions},
                    {"worst", survey.worst.count.wavefronts},
                    {"best", survey.best.count.wavefronts},
                    {"mean", survey.mean_wavefronts}};
  json["lanes"] = ordered_json::array();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((map.mask >> lane & 1) == 0) continue;
    const auto& cell = map.lanes[lane];
    json["lanes"].push_back({{"lane", lane},
                             {"row", cell.row},
                             {"column", cell.column},
                             {"address", cell.address},
                             {"bank", cell.address / 4 % shadow::kBanks}});
  }
  json["layouts"] = std::move(alternatives);
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace tw::cli
