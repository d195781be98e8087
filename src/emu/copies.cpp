// Values that are loaded only to be stored, unchanged: copies of memory. initcheck follows them, so
// that padding and other bytes that nobody has written are not taken for used where they are only
// moved (a struct that -G code passes byte by byte). Looked for in checked launches only.
//
// A value is a copy if the load is its register's only definition and stores of the same size are all
// its uses. Values that one source line moves by the same distance, from one base to another, are
// parts of one larger copy.
//
// Unoptimised code sets a bit-field by loading what surrounds it and storing it back, or loads it for
// nothing; initcheck does not mind in local memory (Ir::unused).
//
// Tested by tests/checkers/planted/uninitialised.cu.
#include <algorithm>
#include <map>
#include <tuple>

#include "emu/ir.h"
#include "isa/lane_rows.h"

namespace tw::emu {
namespace {

uint32_t bytes_of(Element e) {
  return e == Element::b64 ? 8 : e == Element::b32 ? 4 : e == Element::b16 ? 2 : 1;
}

class CopySearch {
 public:
  explicit CopySearch(Decoding& d) : d_(d) {}

  void run() {
    d_.copied.assign(d_.code.size(), {kNoCopy, kNoCopy, kNoCopy, kNoCopy});
    defined_by_.assign(d_.registers.size(), kNone);
    used_otherwise_.assign(d_.registers.size(), false);
    for (uint32_t i = 0; i < d_.code.size(); ++i) {
      const Ir& ir = d_.code[i];
      if (ir.dead) continue;
      for (uint32_t k = 0; k < ir.destinations; ++k)
        if (d_.registers[ir.d[k]].definitions == 1) defined_by_[ir.d[k]] = i;
      if (ir.guard != kNoReg) used_otherwise_[ir.guard] = true, uses_[ir.guard].push_back(i);
      for (uint32_t k = 0; k < ir.sources; ++k)
        if (!ir.s[k].constant) uses_[ir.s[k].reg].push_back(i);
      for (uint32_t k = ir.kind == IrKind::store ? 1 : ir.sources; k < ir.sources; ++k)
        if (!ir.s[k].constant) stores_[ir.s[k].reg].push_back({i, k - 1});
      for (uint32_t k = 0; k < (ir.kind == IrKind::store ? 1u : ir.sources); ++k)
        if (!ir.s[k].constant) used_otherwise_[ir.s[k].reg] = true;
    }
    for (uint32_t i = 0; i < d_.code.size(); ++i)
      if (d_.code[i].kind == IrKind::load && !d_.code[i].dead) {
        load(i);
        d_.code[i].unused = unused(i);
      }
    for (auto& [key, values] : wholes_) {
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (const auto& [value, begin] : values) {
        low = std::min(low, begin);
        high = std::max(high, begin + d_.program->copied[value].bytes);
      }
      for (const auto& [value, begin] : values) {
        CopiedValue& v = d_.program->copied[value];
        v.low = int32_t(low - begin), v.high = int32_t(high - begin);
      }
    }
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  static constexpr int64_t kFarthest = 1 << 12;  // bytes: of one copy
  struct Address {
    uint32_t root;  // a register; kNone: a number
    int64_t offset;
  };

  Address address(const Ir& ir) const {
    Source s = ir.s[0];
    int64_t offset = ir.offset;
    for (int steps = 0; !s.constant && steps < 8; ++steps) {
      const uint32_t at = defined_by_[s.reg];
      if (at == kNone) break;
      const Ir& by = d_.code[at];
      if (by.kind != IrKind::lane || by.row != isa::kRowAdd || by.guard != kNoReg) break;
      const uint32_t number = by.s[1].constant ? 1 : 0;
      if (!by.s[number].constant) break;
      offset += int64_t(by.s[number].value);
      s = by.s[1 - number];
    }
    if (s.constant) return {kNone, int64_t(s.value) + offset};
    return {s.reg, offset};
  }

  void load(uint32_t i) {
    const Ir& ir = d_.code[i];
    if (ir.unobserved) return;
    const uint32_t bytes = bytes_of(ir.element);
    for (uint32_t k = 0; k < ir.destinations; ++k) {
      const uint32_t reg = ir.d[k];
      const auto stores = stores_.find(reg);
      if (defined_by_[reg] != i || used_otherwise_[reg] || stores == stores_.end()) return;
      for (const auto& [store, element] : stores->second)
        if (bytes_of(d_.code[store].element) != bytes) return;
    }
    for (uint32_t k = 0; k < ir.destinations; ++k) {
      const uint32_t value = uint32_t(d_.program->copied.size());
      d_.copied[i][k] = value;
      const bool local = ir.space == AccessSpace::local ||
                         (ir.space == AccessSpace::generic && d_.program->local_bytes != 0);
      d_.program->copied.push_back(
          {ir.site, uint8_t(k * bytes), uint8_t(bytes), local, 0, int32_t(bytes)});
      const auto& stores = stores_[ir.d[k]];
      for (const auto& [store, element] : stores) d_.copied[store][element] = value;
      // Of several stores the first says which larger copy this is a part of.
      const auto [store, element] = stores.front();
      const Address from = address(ir), to = address(d_.code[store]);
      const Site& s = d_.program->sites[ir.site];
      const ptx::Instruction& in = s.function->instructions[s.instruction];
      if (in.location == ptx::kNone) continue;
      const int64_t begin = from.offset + k * bytes;
      wholes_[{block_of(i), s.call, s.function->locations[in.location].line, from.root, to.root,
               to.offset + element * bytes - begin, begin / kFarthest}]
          .push_back({value, begin});
    }
  }

  // The one instruction that uses what this one has put into its only destination; kNone: none, or not
  // known.
  uint32_t only_use(uint32_t i) const {
    const Ir& ir = d_.code[i];
    if (ir.destinations != 1 || defined_by_[ir.d[0]] != i) return kNone;
    const auto uses = uses_.find(ir.d[0]);
    return uses != uses_.end() && uses->second.size() == 1 ? uses->second[0] : kNone;
  }
  bool is_lane(uint32_t i, uint16_t row) const {
    return i != kNone && d_.code[i].kind == IrKind::lane && d_.code[i].row == row &&
           d_.code[i].guard == kNoReg;
  }

  bool unused(uint32_t i) const {
    constexpr uint16_t kRowAnd = isa::lane_row_id<isa::And, isa::LogicRows>(isa::Group::logic);
    const Ir& ir = d_.code[i];
    bool any = false;
    for (uint32_t k = 0; k < ir.destinations; ++k)
      any = any || defined_by_[ir.d[k]] != i || uses_.count(ir.d[k]) != 0;
    if (!any) return true;
    const uint32_t masked = only_use(i);
    if (!is_lane(masked, kRowAnd)) return false;
    if (!d_.code[masked].s[0].constant && !d_.code[masked].s[1].constant) return false;
    uint32_t last = only_use(masked);
    if (is_lane(last, isa::kRowOr)) last = only_use(last);
    if (last == kNone || d_.code[last].kind != IrKind::store) return false;
    const Ir& store = d_.code[last];
    const Address from = address(ir), to = address(store);
    return store.elements == 1 &&
           store.element == (ir.element == Element::s8 ? Element::u8 : ir.element) &&
           from.root == to.root && from.offset == to.offset && block_of(i) == block_of(last);
  }

  uint32_t block_of(uint32_t instruction) const {
    const auto after = std::upper_bound(d_.blocks.begin(), d_.blocks.end(), instruction,
                                        [](uint32_t i, const IrBlock& b) { return i < b.begin; });
    return uint32_t(after - d_.blocks.begin());
  }

  Decoding& d_;
  std::vector<uint32_t> defined_by_;  // by register: the instruction, if there is only one
  std::unordered_map<uint32_t, std::vector<uint32_t>> uses_;  // by register: instructions
  std::vector<bool> used_otherwise_;  // by register: not only as a value to store
  std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>>
      stores_;  // by register: instruction, element
  // Block, call, line, bases, distance, part of memory -> values and where each begins.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, int64_t, int64_t>,
           std::vector<std::pair<uint32_t, int64_t>>>
      wholes_;
};

}  // namespace

void find_copies(Decoding& d) { CopySearch(d).run(); }

}  // namespace tw::emu
