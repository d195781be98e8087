// The part of the memory path that is the same for every instruction set: allocation look-up behind
// the site caches, the windows of shared and local memory, and the fault of an access that fails.
#include <fmt/format.h>

#include "emu/cluster.h"
#include "emu/memory.h"
#include "emu/memory_handlers.h"
#include "emu/windows.h"

namespace tw::emu {

bool locate(Warp* warp, uint32_t site, uint64_t address, uint32_t bytes) {
  std::optional<Allocation> a = warp->cta->state.memory->find(address);
  if (!a || a->bytes < bytes || address - a->address > a->bytes - bytes) return false;
  SiteCache& cache = warp->sites[site];
  cache.low = a->address;
  cache.span = a->bytes - bytes;  // largest offset at which an access of this site still fits
  cache.bias = intptr_t(reinterpret_cast<uint64_t>(a->host) - a->address);
  return true;
}

uint8_t* shared_pointer(Warp* warp, uint64_t address, uint32_t bytes) {
  if (address + bytes <= warp->shared_bytes) return warp->shared + address;
  return address > kOwnMask ? warp->cta->cluster.shared(address, bytes) : nullptr;
}

uint8_t* lane_pointer(Warp* warp, AccessSpace space, uint64_t address, uint32_t bytes,
                      uint32_t lane) {
  Cta& cta = *warp->cta;
  if (space == AccessSpace::generic) {
    if (in_shared_window(address))
      space = AccessSpace::shared, address -= kSharedWindow;
    else if (in_local_window(address))
      space = AccessSpace::local, address -= kLocalWindow;
    else
      space = AccessSpace::global;
  }
  if (space == AccessSpace::shared) {
    return shared_pointer(warp, address, bytes);
  }
  if (space == AccessSpace::local) {
    if (address + bytes > cta.local_bytes) return nullptr;
    return reinterpret_cast<uint8_t*>(cta.local.get()) +
           cta.local_bytes * (warp->index * kLanes + lane) + address;
  }
  std::optional<Allocation> a = cta.state.memory->find(address);
  if (!a || a->bytes < bytes || address - a->address > a->bytes - bytes) return nullptr;
  return a->host + (address - a->address);
}

namespace {

uint32_t bytes_of(Element e) {
  return e == Element::b64 ? 8 : e == Element::b32 ? 4 : e == Element::b16 ? 2 : 1;
}

const char* space_word(AccessSpace s) {
  return s == AccessSpace::shared ? "shared" : s == AccessSpace::local ? "local" : "global";
}

std::string where_it_lies(const Cta& cta, AccessSpace space, uint64_t address, uint32_t bytes) {
  if (space == AccessSpace::shared && address > kOwnMask && cta.cluster.size() > 1)
    return cta.cluster.why_not_shared(address);
  if (space == AccessSpace::shared)
    return fmt::format("the block has {} bytes of shared memory", cta.shared_bytes);
  if (space == AccessSpace::local)
    return fmt::format("the thread has {} bytes of local memory{}", cta.local_bytes,
                       cta.program.has_subroutines
                           ? ", its stack for recursive calls included: "
                             "cudaDeviceSetLimit(cudaLimitStackSize, ...) sets it"
                           : "");
  std::optional<Allocation> a = cta.state.memory->nearest(address);
  if (!a) return "there is no allocation";
  std::string name = a->label.empty()
                         ? fmt::format("the allocation of {} bytes at {:#x}", a->bytes, a->address)
                         : fmt::format("'{}' ({} bytes at {:#x})", a->label, a->bytes, a->address);
  if (address < a->address) return fmt::format("{} bytes before {}", a->address - address, name);
  if (address == a->address + a->bytes) return fmt::format("just past the end of {}", name);
  if (address > a->address + a->bytes)
    return fmt::format("{} bytes past the end of {}", address - (a->address + a->bytes), name);
  return fmt::format("the last {} bytes reach past the end of {}",
                     address + bytes - (a->address + a->bytes), name);
}

}  // namespace

const Op* lane_fault(const Op* op, Warp* warp, uint32_t lane, FaultKind kind, std::string message) {
  const Cta& cta = *warp->cta;
  const SitePlace place = place_of(cta.program, op->site);
  const auto& shape = cta.program.block_shape;
  const uint32_t thread = warp->index * kLanes + lane;
  Fault& f = warp->worker->fault;
  f.kind = kind;
  f.message = std::move(message);
  f.file = place.file, f.line = place.line, f.instruction = place.text;
  f.block = cta.index;
  f.thread = {thread % shape[0], thread / shape[0] % shape[1], thread / shape[0] / shape[1]};
  warp->pc = op;
  warp->state = WarpState::faulted;
  return nullptr;
}

const Op* access_fault(const Op* op, char* frame, Warp* warp, const MemoryKey& key) {
  Cta& cta = *warp->cta;
  const uint32_t bytes = bytes_of(key.element) * key.elements;
  const bool narrow = key.space == AccessSpace::shared || key.space == AccessSpace::local;
  uint32_t active = key.masked ? warp->active : kFullMask;
  uint32_t fault_lane = 0;
  uint64_t fault_address = 0;
  bool misaligned = false;
  AccessSpace space = key.space;
  for (uint32_t left = active; left != 0; left &= left - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(left));
    uint32_t slot = key.form == AddressForm::uniform ? 0 : lane;
    uint64_t address =
        narrow ? uint64_t(uint32_t(reinterpret_cast<const uint32_t*>(frame + op->a)[slot] +
                                   uint32_t(op->imm)))
               : reinterpret_cast<const uint64_t*>(frame + op->a)[slot] + uint64_t(op->imm);
    bool bad_alignment = (address & (bytes - 1)) != 0;
    // ld.shared and st.shared reach the block's own memory only, whatever block an address names.
    const bool there = key.space == AccessSpace::shared
                           ? address + bytes <= warp->shared_bytes
                           : lane_pointer(warp, key.space, address, bytes, lane) != nullptr;
    if (!bad_alignment && there) continue;
    fault_lane = lane;
    fault_address = address;
    misaligned = bad_alignment;
    if (space == AccessSpace::generic) {
      if (in_shared_window(address))
        space = AccessSpace::shared, fault_address -= kSharedWindow;
      else if (in_local_window(address))
        space = AccessSpace::local, fault_address -= kLocalWindow;
    }
    break;
  }
  std::string message;
  const char* verb = key.store ? "write" : "read";
  if (misaligned)
    message = fmt::format(
        "misaligned {} of {} bytes at {} address {:#x}: the address must be a multiple of {}", verb,
        bytes, space_word(space), fault_address, bytes);
  else
    message = fmt::format("out-of-bounds {} of {} bytes at {} address {:#x}: {}", verb, bytes,
                          space_word(space), fault_address,
                          where_it_lies(cta, space, fault_address, bytes));
  warp->worker->fault.address = fault_address;
  // Of another CTA: an H200 says cudaErrorLaunchFailure.
  const bool remote =
      space == AccessSpace::shared && fault_address > kOwnMask && cta.cluster.size() > 1;
  return lane_fault(op, warp, fault_lane,
                    misaligned ? FaultKind::misaligned_address
                    : remote   ? FaultKind::trap
                               : FaultKind::illegal_address,
                    std::move(message));
}

}  // namespace tw::emu
