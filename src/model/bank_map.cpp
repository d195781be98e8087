// See bank_map.h for the layout rules.
#include "model/bank_map.h"

#include <algorithm>
#include <bit>
#include <string>

namespace tw::model {
namespace {

using shadow::kWarpLanes;

Error refuse(std::string message) { return Error{std::move(message), "", 0, 0}; }

bool power_of_two(uint32_t value) { return std::has_single_bit(value); }

}  // namespace

Status check_array(const SharedArray& a) {
  if (a.rows == 0 || a.columns == 0 || a.rows > 65536 || a.columns > 65536)
    return refuse("the array needs between 1 and 65536 rows and columns");
  if (!power_of_two(a.element_bytes) || a.element_bytes > 16)
    return refuse("the element size must be 1, 2, 4, 8 or 16 bytes");
  if (a.vector == 0 || !power_of_two(a.vector) || a.vector > 16 || a.access_bytes() > 16)
    return refuse("one access moves 1, 2, 4, 8 or 16 bytes: the vector is too wide");
  if (a.columns % a.vector != 0) return refuse("the columns must be a multiple of the vector");
  if (a.pad > 65536) return refuse("the padding is limited to 65536 elements");
  if (a.xor_swizzle && a.pad != 0) return refuse("choose padding or swizzling, not both");
  if (a.xor_swizzle && !power_of_two(a.columns / a.vector))
    return refuse("the XOR swizzle needs a power of two of chunks (columns / vector) in a row");
  if (a.bytes() > uint64_t{1} << 31) return refuse("the array is larger than 2 GiB");
  return Unit{};
}

BankMap map_banks(const SharedArray& a, Walk walk, uint32_t first, shadow::SharedAccess access) {
  BankMap map;
  const uint32_t chunks = a.columns / a.vector;
  uint32_t address[kWarpLanes] = {};
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    LaneCell& cell = map.lanes[lane];
    uint32_t chunk = 0;
    if (walk == Walk::kColumn) {
      cell.row = lane % a.rows;
      chunk = first / a.vector + lane / a.rows;
    } else {
      cell.row = first + lane / chunks;
      chunk = lane % chunks;
    }
    cell.column = chunk * a.vector;
    if (cell.row >= a.rows || chunk >= chunks) continue;
    map.mask |= 1u << lane;
    const uint32_t stored = a.xor_swizzle ? chunk ^ (cell.row % chunks) : chunk;
    cell.address = (cell.row * (a.columns + a.pad) + stored * a.vector) * a.element_bytes;
    address[lane] = cell.address;
    if (cell.address % a.access_bytes() != 0) map.misaligned_lanes |= 1u << lane;
  }
  map.count = shadow::count_banks(address, map.mask, a.access_bytes(), access);
  // The worst group; merged groups (loads) are told from the number of groups counted.
  const uint32_t unmerged = shadow::lanes_per_group(a.access_bytes());
  const bool merged =
      access == shadow::SharedAccess::kLoad && unmerged < kWarpLanes &&
      (shadow::lanes_pair_up(address, map.mask, 1) || shadow::lanes_pair_up(address, map.mask, 2));
  const uint32_t lanes = merged ? unmerged * 2 : unmerged;
  for (uint32_t at = 0; at < kWarpLanes; at += lanes)
    map.ways = std::max(
        map.ways, shadow::wavefronts_of_group(address, map.mask, a.access_bytes(), at, lanes));
  return map;
}

BankSurvey survey_banks(const SharedArray& a, Walk walk, shadow::SharedAccess access) {
  BankSurvey survey;
  const uint32_t end = walk == Walk::kColumn ? a.columns : a.rows;
  const uint32_t step = walk == Walk::kColumn ? a.vector : 1;
  double sum = 0;
  // Positions repeat after all banks have been passed; 4096 of them show every case.
  for (uint32_t first = 0; first < end && survey.positions < 4096; first += step) {
    BankMap map = map_banks(a, walk, first, access);
    sum += map.count.wavefronts;
    if (map.misaligned_lanes != 0) ++survey.misaligned_positions;
    if (survey.positions == 0 || map.count.conflicts() > survey.worst.count.conflicts()) {
      survey.worst = map;
      survey.worst_first = first;
    }
    if (survey.positions == 0 || map.count.conflicts() < survey.best.count.conflicts()) {
      survey.best = map;
      survey.best_first = first;
    }
    ++survey.positions;
  }
  survey.mean_wavefronts = sum / survey.positions;
  return survey;
}

int conflict_free_pad(const SharedArray& array, Walk walk, shadow::SharedAccess access) {
  SharedArray padded = array;
  padded.xor_swizzle = false;
  for (padded.pad = 0; padded.pad <= 32; ++padded.pad) {
    const BankSurvey survey = survey_banks(padded, walk, access);
    if (survey.worst.count.conflicts() == 0 && survey.misaligned_positions == 0)
      return static_cast<int>(padded.pad);
  }
  return -1;
}

}  // namespace tw::model
