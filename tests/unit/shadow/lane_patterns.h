// Reads tests/data/lane-patterns-h200.tsv, the measured counters that the rules must reproduce.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tw::shadow {

struct LanePattern {
  std::string name;
  uint32_t width = 0;
  uint32_t ld_wavefronts = 0, ld_conflicts = 0, st_wavefronts = 0, st_conflicts = 0;
  uint32_t ld_sectors = 0, st_sectors = 0;
  std::array<uint32_t, 32> address{};  // bytes from the start of the buffer
};

inline std::vector<LanePattern> read_lane_patterns() {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tests/data/lane-patterns-h200.tsv");
  std::vector<LanePattern> patterns;
  std::string line;
  std::getline(in, line);  // column names
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    LanePattern p;
    fields >> p.name >> p.width >> p.ld_wavefronts >> p.ld_conflicts >> p.st_wavefronts >>
        p.st_conflicts >> p.ld_sectors >> p.st_sectors;
    for (uint32_t& a : p.address) {
      fields >> a;
      a *= p.width;
    }
    if (fields) patterns.push_back(p);
  }
  return patterns;
}

}  // namespace tw::shadow
