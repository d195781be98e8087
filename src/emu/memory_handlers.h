// Which handler runs a load or store: the table that each instruction set exports
// (memory_handlers.cpp), and the calls that the handlers make into the engine.
#pragma once

#include <cstdint>

#include "emu/device.h"
#include "emu/op.h"

namespace tw::emu {

// What a lane moves. 8-bit values live in 16-bit slots.
enum class Element : uint8_t { u8, s8, b16, b32, b64, count };

// What decode knows about the lanes' addresses. Facts of the static stride analysis hold modulo
// 2^32 or 2^64; the handlers check both ends of a run, which is where a wrapped one shows.
enum class AddressForm : uint8_t {
  uniform,    // one scalar slot
  broadcast,  // equal over each half-warp
  unit,       // consecutive elements over each half-warp
  unit_warp,  // consecutive elements over the warp
  lanes,      // anything
  count,
};

enum class AccessSpace : uint8_t { global, shared, local, generic, count };

struct MemoryKey {
  bool store = false;
  bool masked = false;
  bool uniform_value = false;  // loads: scalar destination; stores: scalar value (elements == 1)
  AccessSpace space = AccessSpace::global;
  Element element = Element::b32;
  AddressForm form = AddressForm::lanes;
  uint8_t elements = 1;  // 1, 2, 4
};

// Op fields: a = address slot (64-bit for global and generic, 32-bit for shared and local), imm =
// offset; value slots d, b, c, e. Any key is served (facts are dropped where no handler uses them).
using MemoryHandlerTable = Handler (*)(const MemoryKey& key);

// Two shared loads and the FMA that consumes them: one row of a fused inner product.
struct DotTerm {
  int32_t a_offset, b_offset;
};
struct DotRow {
  uint32_t count = 0;
  int32_t a_low = 0, a_high = 0, b_low = 0, b_high = 0;  // smallest and largest offsets
  DotTerm terms[1];                                      // `count` of them
};
// Op fields: a, b = 32-bit address slots, c = addend, d = destination, extra = DotRow*.
// nullptr if there is no fused handler for these forms.
using DotHandlerTable = Handler (*)(AddressForm a, AddressForm b);

// Two global loads and the FMA that consumes them. Op fields: a, b = 64-bit address slots, c =
// addend, d = destination, site = of load a, extra = GlobalPair*. Filtered: the loads are observed
// through the filter, which must let both pass. When a check fails, the plain instructions follow;
// otherwise `target` is next.
struct GlobalPair {
  int64_t a_offset, b_offset;
  uint32_t b_site;
};
using GlobalDotHandlerTable = Handler (*)(AddressForm a, AddressForm b, bool filtered);

// f32 FMAs on lane slots, in order, with a factor that stays the same. Op::extra = FmaRow*.
struct FmaTerm {
  uint32_t d, b, c;
};
struct FmaRow {
  uint32_t count = 0;
  uint32_t common = 0;  // slot of the factor
  FmaTerm terms[1];     // `count` of them
};

// ---- called by the handlers (memory_access.cpp); out of line, the same for every instruction set
// ----

// Finds the allocation that holds [address, address + bytes) and fills the site's cache; false if
// none.
bool locate(Warp* warp, uint32_t site, uint64_t address, uint32_t bytes);
// Host address of shared memory, the CTA's own or another's of its cluster (windows.h), or nullptr.
uint8_t* shared_pointer(Warp* warp, uint64_t address, uint32_t bytes);
// Host address of one lane's access in any space, or nullptr.
uint8_t* lane_pointer(Warp* warp, AccessSpace space, uint64_t address, uint32_t bytes,
                      uint32_t lane);
// Stops the warp: a lane has done what the message says. Returns nullptr, as a handler that faults
// does.
const Op* lane_fault(const Op* op, Warp* warp, uint32_t lane, FaultKind kind, std::string message);
// The same for an access: of the first active lane whose address cannot be accessed.
const Op* access_fault(const Op* op, char* frame, Warp* warp, const MemoryKey& key);

}  // namespace tw::emu
