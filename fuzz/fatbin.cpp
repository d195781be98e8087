// Fat binaries: parse_fatbin and fatbin_text never crash and never take more memory than they may.
// Seeds (fuzz/seeds/fatbin): images by nvcc in every compression.
#include "cudart/fatbin.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto entries = tw::cudart::parse_fatbin({data, size});
  if (!entries) return 0;
  (void)tw::cudart::choose_ptx(*entries, 90);
  for (const tw::cudart::FatbinEntry& entry : *entries)
    if (entry.text_bytes < (1 << 20)) (void)tw::cudart::fatbin_text(entry).ok();
  return 0;
}
