// Bulk copies: a lane moves a run of bytes, or a box of a tensor, 16 bytes at a time. The manual
// lets a copy happen at any time until it is waited for; here it happens at its start.
//
// Tested by tests/e2e/programs/bulk.cu and steps 16, 17 and 20 of kernels/gemm.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/bulk.h"
#include "emu/cta.h"
#include "emu/memory.h"
#include "emu/tensor_map.h"
#include "emu/windows.h"

namespace tw::emu {
namespace {

using isa::Field;

constexpr uint32_t kPiece = 16;
constexpr uint32_t kBoxAlign = 128;  // of a box in shared memory; what less does was not measured

// One lane's copy. A function returns false when the warp has faulted.
class BulkCopy {
 public:
  BulkCopy(const Op* op, Warp* warp, const BulkOperands& o, uint32_t lane)
      : op_(op),
        warp_(warp),
        o_(o),
        lane_(lane),
        store_(o.mods[Field::to] != 0),
        within_(o.mods[Field::part] != 0) {}

  void read_already() { again_ = true; }

  bool linear(uint64_t global, uint32_t shared, uint32_t bytes) {
    if (bytes % kPiece != 0 || global % kPiece != 0 || shared % kPiece != 0)
      return misuse(FaultKind::misaligned_address,
                    fmt::format("a bulk copy of {} bytes between {} address {:#x} and shared "
                                "address {:#x}: all three must be multiples of 16",
                                bytes, within_ ? "generic" : "global", global, shared));
    if (bytes > kOwnMask)
      return misuse(
          FaultKind::illegal_address,
          fmt::format("a bulk copy of {} bytes: more than any block's shared memory", bytes));
    for (uint32_t at = 0; at < bytes; at += kPiece)
      if (!move(global + at, shared + at, 0, kPiece)) return false;
    return true;
  }

  // `bytes`: what the copy counts.
  bool tensor(uint64_t map_address, uint32_t shared, const int32_t* coordinates, uint32_t rank,
              uint32_t& bytes) {
    TensorMap map;
    const uint8_t* at = global_bytes(map_address, sizeof map);
    if (at != nullptr) std::memcpy(&map, at, sizeof map);
    if (at == nullptr || map.magic != TensorMap::kMagic)
      return misuse(FaultKind::illegal_address,
                    fmt::format("there is no tensor map at address {:#x}", map_address));
    if (const char* error = error_of(map); *error != 0)
      return misuse(FaultKind::illegal_instruction,
                    fmt::format("a bulk tensor copy with a tensor map that is none: {}", error));
    if (map.rank != rank)
      return misuse(FaultKind::illegal_instruction,
                    fmt::format("a bulk tensor copy of rank {} with a tensor map of rank {}", rank,
                                map.rank));
    if (shared % kBoxAlign != 0)
      return misuse(FaultKind::misaligned_address,
                    fmt::format("a bulk tensor copy at shared address {:#x}: it must be a multiple "
                                "of {}",
                                shared, kBoxAlign));
    // Measured on an H200: both are illegal instructions.
    if (int64_t(coordinates[0]) * map.element_bytes % kPiece != 0)
      return misuse(
          FaultKind::illegal_instruction,
          fmt::format("a bulk tensor copy at coordinate {} of elements of {} bytes: a line of "
                      "the box must begin on a multiple of 16 bytes",
                      coordinates[0], map.element_bytes));
    if (store_ && std::any_of(coordinates, coordinates + rank, [](int32_t c) { return c < 0; }))
      return misuse(FaultKind::illegal_instruction,
                    "a bulk tensor copy to global memory at a negative coordinate");
    const uint32_t line = map.box[0] * map.element_bytes;
    uint64_t lines = 1;
    for (uint32_t d = 1; d < rank && lines <= warp_->shared_bytes; ++d) lines *= map.box[d];
    if (lines * line > warp_->shared_bytes)
      return misuse(
          FaultKind::illegal_address,
          fmt::format("a bulk tensor copy whose box is larger than the block's {} bytes of "
                      "shared memory",
                      warp_->shared_bytes));
    bytes = uint32_t(lines * line);
    uint32_t index[kMaxTensorRank] = {};  // within the box
    for (uint64_t l = 0; l < lines; ++l, shared += line) {
      bool inside = true;
      uint64_t offset = 0;
      for (uint32_t d = 1; d < rank; ++d) {
        const int64_t c = int64_t(coordinates[d]) + index[d];
        inside = inside && c >= 0 && c <= int64_t(map.size[d]);
        offset += uint64_t(c) * map.stride[d];
      }
      if (!move_line(map, map.address + offset, shared, coordinates[0], inside, line)) return false;
      for (uint32_t d = 1; d < rank && ++index[d] == map.box[d]; ++d) index[d] = 0;
    }
    return true;
  }

 private:
  // A line of the box, which begins at element `first` of a line of the tensor, or lies beside it.
  bool move_line(const TensorMap& map, uint64_t global, uint32_t shared, int32_t first, bool inside,
                 uint32_t line) {
    // In bytes from the line's beginning: where the box begins, and where the tensor ends.
    const int64_t begin = int64_t(first) * map.element_bytes,
                  end = (int64_t(map.size[0]) + 1) * map.element_bytes;
    for (uint32_t at = 0; at < line; at += kPiece) {
      const int64_t from = begin + at;
      const uint32_t low = uint32_t(std::clamp<int64_t>(-from, 0, kPiece)),
                     high = uint32_t(std::clamp<int64_t>(end - from, 0, kPiece));
      const uint32_t to = shared + at, swizzled = to ^ ((to >> 7 & (map.swizzle_pieces - 1u)) << 4);
      const bool any = inside && low < high;
      if (!move(global + uint64_t(from), swizzled, any ? low : 0, any ? high : 0)) return false;
    }
    return true;
  }

  // The bytes [low, high) of a piece; into shared memory the others become zero.
  bool move(uint64_t global, uint32_t shared, uint32_t low, uint32_t high) {
    uint8_t piece[kPiece] = {};
    if (store_ && high <= low) return true;
    if (store_ && !shared_side(shared, piece)) return false;
    for (uint32_t at = low; at < high;) {
      if (within_) {
        if (!shared_side(uint32_t(global), piece, true)) return false;
        break;
      }
      // A tensor may end within a piece: as many bytes as lie on a multiple of their number.
      uint32_t bytes = kPiece;
      while (bytes > high - at || (global + at) % bytes != 0) bytes /= 2;
      if (!global_side(global + at, piece + at, bytes)) return false;
      at += bytes;
    }
    return store_ || shared_side(shared, piece);
  }

  bool shared_side(uint32_t address, uint8_t* piece, bool source = false) {
    const AccessSite& site = source ? o_.source : o_.shared;
    if (!tell(site, address, piece)) return true;
    uint8_t* const at = shared_pointer(warp_, address, kPiece);
    if (at == nullptr) return fault(site, address);
    if (store_ || source)
      std::memcpy(piece, at, kPiece);
    else
      std::memcpy(at, piece, kPiece);
    return true;
  }

  bool global_side(uint64_t address, uint8_t* data, uint32_t bytes) {
    const AccessSite& site = o_.global[std::countr_zero(bytes)];
    if (!again_ && !tell(site, address, data)) return true;
    uint8_t* at = global_bytes(address, bytes);
    if (at == nullptr) return fault(site, address);
    if (store_)
      std::memcpy(at, data, bytes);
    else
      std::memcpy(data, at, bytes);
    return true;
  }

  // False: the observer has taken the access away. `data`: of a write.
  bool tell(const AccessSite& site, uint64_t address, const uint8_t* data) {
    if (!o_.observed) return true;
    alignas(64) char frame[kSlots + 4 * kValueSlot] = {};
    const Op op = slots(address, site.space == AccessSpace::shared, frame);
    const uint32_t element = site.bytes / site.elements;
    for (uint32_t i = 0; i < site.elements; ++i)
      std::memcpy(frame + kSlots + kValueSlot * i + std::max(element, 2u) * size_t(lane_),
                  data + 4 * i, element);
    const Access access{site, *warp_->cta, *warp_, 1u << lane_, op, frame};
    return warp_->cta->observer->access(access) != 0;
  }

  // An Op and a frame that hold one lane's address, for those who look there.
  static constexpr uint32_t kSlots = 8 * kLanes, kValueSlot = 4 * kLanes;
  Op slots(uint64_t address, bool narrow, char* frame) const {
    if (narrow)
      reinterpret_cast<uint32_t*>(frame)[lane_] = uint32_t(address);
    else
      reinterpret_cast<uint64_t*>(frame)[lane_] = address;
    Op op = *op_;
    op.a = 0, op.imm = 0;
    op.d = kSlots, op.b = kSlots + kValueSlot, op.c = kSlots + 2 * kValueSlot,
    op.e = kSlots + 3 * kValueSlot;
    return op;
  }

  uint8_t* global_bytes(uint64_t address, uint32_t bytes) {
    const SiteCache& cache = warp_->sites[op_->site];
    const auto fits = [&] {
      return address - cache.low <= cache.span && address - cache.low + bytes - 1 <= cache.span;
    };
    if (!fits() && (!locate(warp_, op_->site, address, 1) || !fits())) return nullptr;
    return reinterpret_cast<uint8_t*>(address + uint64_t(cache.bias));
  }

  bool fault(const AccessSite& site, uint64_t address) {
    MemoryKey key;
    key.store = site.kind == AccessKind::write;
    key.masked = true;
    key.space = site.space;
    key.element = site.element;
    key.elements = site.elements;
    alignas(64) char frame[kSlots + 4 * kValueSlot] = {};
    const Op op = slots(address, site.space == AccessSpace::shared, frame);
    warp_->active = 1u << lane_;
    access_fault(&op, frame, warp_, key);
    warp_->pc = op_;
    return false;
  }

  bool misuse(FaultKind kind, std::string message) {
    lane_fault(op_, warp_, lane_, kind, std::move(message));
    return false;
  }

  const Op* op_;
  Warp* warp_;
  const BulkOperands& o_;
  uint32_t lane_;
  bool store_, within_, again_ = false;
};

[[gnu::noinline]] bool copy_lane(const Op* op, char* frame, Warp* warp, uint32_t lane) {
  const auto& o = static_cast<const BulkOperands&>(*static_cast<const MachineOperands*>(op->extra));
  const auto word = [&](uint32_t i) {
    return reinterpret_cast<const uint32_t*>(frame + o.s[i])[(o.uniform >> i) & 1 ? 0 : lane];
  };
  const uint64_t outer =
      reinterpret_cast<const uint64_t*>(frame + o.s[1])[(o.uniform >> 1) & 1 ? 0 : lane];
  const uint32_t rank = o.mods[Field::vec];
  BulkCopy copy(op, warp, o, lane);
  if (o.mods[Field::noinc] != 0 && word(o.sources - 1u) != 0) copy.read_already();
  uint32_t bytes = 0;
  if (rank == 0) {
    bytes = word(2);
    if (!copy.linear(outer, word(0), bytes)) return false;
  } else {
    int32_t coordinates[kMaxTensorRank] = {};
    for (uint32_t d = 0; d < rank; ++d) coordinates[d] = int32_t(word(2 + d));
    if (!copy.tensor(outer, word(0), coordinates, rank, bytes)) return false;
  }
  if (o.d[0] != kNoSlot) reinterpret_cast<uint32_t*>(frame + o.d[0])[lane] = bytes;
  return true;
}

const Op* bulk_copy(TW_HANDLER_ARGS) {
  for (uint32_t left = warp->active; left != 0; left &= left - 1)
    if (!copy_lane(op, frame, warp, uint32_t(__builtin_ctz(left)))) return nullptr;
  TW_NEXT;
}

}  // namespace

Handler bulk_handler() { return bulk_copy; }

}  // namespace tw::emu
