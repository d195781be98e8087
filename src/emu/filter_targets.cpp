// The instruction sets that filters were compiled for.
#include <string_view>

#include "emu/filter_handlers.h"

namespace tw::emu {

#define TW_FILTER_TARGET(NAME)                                 \
  inline namespace NAME {                                      \
  Handler filter_handler(const FilterKey& key);                \
  const Op* filter_row(const Op* op, char* frame, Warp* warp); \
  }                                                            \
  constexpr FilterTarget kFilters_##NAME{NAME::filter_handler, NAME::filter_row};

#if TW_HAS_PORTABLE
TW_FILTER_TARGET(portable)
#endif
#if TW_HAS_AVX2
TW_FILTER_TARGET(avx2)
#endif
#if TW_HAS_AVX512
TW_FILTER_TARGET(avx512)
#endif

const FilterTarget& filter_target(const Target& target) {
#if TW_HAS_PORTABLE
  if (target.name == std::string_view("portable")) return kFilters_portable;
#endif
#if TW_HAS_AVX2
  if (target.name == std::string_view("avx2")) return kFilters_avx2;
#endif
#if TW_HAS_AVX512
  if (target.name == std::string_view("avx512")) return kFilters_avx512;
#endif
  __builtin_unreachable();
}

}  // namespace tw::emu
