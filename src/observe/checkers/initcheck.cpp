// initcheck: reads of bytes that nobody has written, exact to the byte. Memory whose writes can be
// missed (managed and host memory, module variables) is taken as written.
#include <fmt/format.h>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using emu::AccessSpace;
using report::Finding;
using report::Severity;

void CheckSession::initcheck(Resolved& r) {
  Written* written = nullptr;
  uint64_t stride = 0;  // local memory: bytes of a thread
  if (r.space == AccessSpace::shared)
    written = &r.cta->shared_written;
  else if (r.space == AccessSpace::local)
    written = &r.cta->local_written, stride = r.a.cta.local_bytes;
  else if (r.shadow->tracked)
    written = &r.shadow->written;
  if (written == nullptr || written->left == 0) return;
  const uint32_t bytes = r.a.site.bytes;
  const uint64_t base = stride * r.a.warp.index * emu::kLanes;
  if (r.a.site.kind != AccessKind::write) {
    uint32_t bad = 0;
    for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      if (!written->all(base + stride * l + r.address[l], bytes)) bad |= 1u << l;
    }
    if (bad != 0) {
      const char* kind = r.space == AccessSpace::shared  ? "uninit-shared"
                         : r.space == AccessSpace::local ? "uninit-local"
                                                         : "uninit-global";
      count(kind, Severity::error, r.a.site.site, 0, uint64_t(__builtin_popcount(bad)),
            [&](Finding& f) {
              const uint32_t l = uint32_t(__builtin_ctz(bad));
              const char* what = r.space == AccessSpace::shared  ? "shared"
                                 : r.space == AccessSpace::local ? "local"
                                                                 : "global";
              f.message =
                  fmt::format("read of {} bytes of {} memory that were never written", bytes, what);
              f.where = fmt::format(
                  "{}, {} {:#x}", thread_text(r.a.cta, r.a.warp.index * emu::kLanes + l),
                  r.space == AccessSpace::global ? "offset" : "address", r.address[l]);
              if (r.space == AccessSpace::global) {
                f.allocation =
                    fmt::format("{} bytes into the allocation of {} bytes at {:#x}", r.address[l],
                                r.shadow->allocation.bytes, r.shadow->allocation.address);
                f.advice = "initialise it with cudaMemcpy, cudaMemset or a kernel before this one";
              } else if (r.space == AccessSpace::shared) {
                f.advice =
                    "a thread of the block has to write it, zero outside of the data, before the "
                    "barrier that precedes this read";
              } else {
                f.advice = "initialise the variable or every element of the array";
              }
              f.sites.push_back(place(r.a.site.site, "read"));
            });
    }
  }
  if (r.a.site.kind != AccessKind::read)
    for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      written->set(base + stride * l + r.address[l], bytes);
    }
}

}  // namespace tw::observe
