// Which lanes of a warp meet in which shared-memory bank, when the warp walks along a row or down a
// column of a two-dimensional array: the layout question behind padding and swizzling.
//
// The array is rows x columns elements, each row followed by `pad` unused elements. A lane reads
// `vector` neighbouring elements in one access. XOR swizzle stores the chunk c of row r (a chunk is
// `vector` elements) in place c XOR (r mod chunks), which needs a power of two of chunks and no
// padding.
//   column walk: lane l reads row l mod rows, at column first + (l / rows) * vector
//   row walk:    lanes continue along row `first`, then along the next rows
// Lanes that would leave the array are inactive.
//
// An address that is no multiple of the access width faults on the hardware ("misaligned address");
// the map says so and still counts banks, so that both facts can be shown.
//
// Tested by tests/unit/model/bank_map_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "shadow/banks.h"
#include "util/result.h"

namespace tw::model {

struct SharedArray {
  uint32_t rows = 32, columns = 32;
  uint32_t element_bytes = 4;
  uint32_t pad = 0;  // elements after each row
  bool xor_swizzle = false;
  uint32_t vector = 1;  // elements per lane and access

  uint64_t bytes() const { return uint64_t{rows} * (columns + pad) * element_bytes; }
  uint32_t access_bytes() const { return element_bytes * vector; }
};

enum class Walk : uint8_t { kRow, kColumn };

struct LaneCell {
  uint32_t row = 0, column = 0;  // of the first element, before swizzling
  uint32_t address = 0;          // bytes from the start of the array
};

struct BankMap {
  std::array<LaneCell, 32> lanes{};
  uint32_t mask = 0;  // active lanes
  shadow::BankCount count;
  uint32_t misaligned_lanes = 0;  // mask
  // ways(): wavefronts of the worst group, the N of "N-way bank conflict"
  uint32_t ways = 0;
};

// The rules of the shape: element 1..16 bytes, access 1, 2, 4, 8 or 16 bytes, vector divides
// columns, at most 64 KiB rows and columns. Everything else below needs an array that passed.
Status check_array(const SharedArray& array);

// Precondition: check_array passed and `first` is a valid row or column (multiple of vector).
BankMap map_banks(const SharedArray& array, Walk walk, uint32_t first, shadow::SharedAccess access);

// Over every `first`: columns 0, vector, 2 vector, ... or rows 0, 1, ...
struct BankSurvey {
  uint32_t worst_first = 0, best_first = 0;
  BankMap worst, best;
  double mean_wavefronts = 0;
  uint32_t positions = 0, misaligned_positions = 0;
};
BankSurvey survey_banks(const SharedArray& array, Walk walk, shadow::SharedAccess access);

// The smallest padding, up to 32 elements, that is aligned and has no conflict at any position; -1:
// none. With the array's own padding and swizzle ignored.
int conflict_free_pad(const SharedArray& array, Walk walk, shadow::SharedAccess access);

}  // namespace tw::model
