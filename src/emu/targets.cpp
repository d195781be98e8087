// The instruction sets that handlers were compiled for, and the choice among them.
#include <cstdlib>
#include <string_view>

#include "emu/memory_handlers.h"
#include "emu/program.h"
#include "isa/lane_rows.h"

namespace tw::emu {

#define TW_DECLARE_TARGET(NAME)                                            \
  inline namespace NAME {                                                  \
  std::span<const LaneRowHandlers> move_lane_rows();                       \
  std::span<const LaneRowHandlers> integer_lane_rows();                    \
  std::span<const LaneRowHandlers> divide_lane_rows();                     \
  std::span<const LaneRowHandlers> logic_lane_rows();                      \
  std::span<const LaneRowHandlers> bits_lane_rows();                       \
  std::span<const LaneRowHandlers> carry_lane_rows();                      \
  std::span<const LaneRowHandlers> video_lane_rows();                      \
  std::span<const LaneRowHandlers> float_lane_rows();                      \
  std::span<const LaneRowHandlers> quotient_lane_rows();                   \
  std::span<const LaneRowHandlers> special_lane_rows();                    \
  std::span<const LaneRowHandlers> half_lane_rows();                       \
  std::span<const LaneRowHandlers> compare_lane_rows();                    \
  std::span<const LaneRowHandlers> set_lane_rows();                        \
  std::span<const LaneRowHandlers> convert_lane_rows();                    \
  std::span<const LaneRowHandlers> convertintfloat_lane_rows();            \
  std::span<const LaneRowHandlers> converthalf_lane_rows();                \
  Handler memory_handler(const MemoryKey& key);                            \
  Handler dot_handler(AddressForm a, AddressForm b);                       \
  Handler global_dot_handler(AddressForm a, AddressForm b, bool filtered); \
  const Op* fma_row(const Op* op, char* frame, Warp* warp);                \
  }

#if TW_HAS_PORTABLE
TW_DECLARE_TARGET(portable)
#endif
#if TW_HAS_AVX2
TW_DECLARE_TARGET(avx2)
#endif
#if TW_HAS_AVX512
TW_DECLARE_TARGET(avx512)
#endif

namespace {

using GroupFunction = std::span<const LaneRowHandlers> (*)();

template <const GroupFunction* kGroups> const LaneRowHandlers* lane_row(uint32_t row) {
  static const std::vector<LaneRowHandlers> rows = [] {
    std::vector<LaneRowHandlers> all;
    for (size_t g = 0; g < static_cast<size_t>(isa::Group::count); ++g)
      for (const LaneRowHandlers& r : kGroups[g]()) all.push_back(r);
    return all;
  }();
  return &rows[row];
}

#define TW_DEFINE_TARGET(NAME)                                                              \
  constexpr GroupFunction kGroups_##NAME[] = {                                              \
      NAME::move_lane_rows,       NAME::integer_lane_rows, NAME::divide_lane_rows,          \
      NAME::logic_lane_rows,      NAME::bits_lane_rows,    NAME::carry_lane_rows,           \
      NAME::video_lane_rows,      NAME::float_lane_rows,   NAME::quotient_lane_rows,        \
      NAME::special_lane_rows,    NAME::half_lane_rows,    NAME::compare_lane_rows,         \
      NAME::set_lane_rows,        NAME::convert_lane_rows, NAME::convertintfloat_lane_rows, \
      NAME::converthalf_lane_rows};                                                         \
  constexpr Target kTarget_##NAME{#NAME,                                                    \
                                  lane_row<kGroups_##NAME>,                                 \
                                  NAME::memory_handler,                                     \
                                  NAME::dot_handler,                                        \
                                  NAME::global_dot_handler,                                 \
                                  NAME::fma_row};

#if TW_HAS_PORTABLE
TW_DEFINE_TARGET(portable)
#endif
#if TW_HAS_AVX2
TW_DEFINE_TARGET(avx2)
#endif
#if TW_HAS_AVX512
TW_DEFINE_TARGET(avx512)
#endif

}  // namespace

std::vector<const Target*> supported_targets() {
  std::vector<const Target*> list;
#if TW_HAS_PORTABLE
  list.push_back(&kTarget_portable);
#endif
#if TW_HAS_AVX2 || TW_HAS_AVX512
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
#endif
#if TW_HAS_AVX2
  if (avx2) list.push_back(&kTarget_avx2);
#endif
#if TW_HAS_AVX512
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    list.push_back(&kTarget_avx512);
#endif
  return list;
}

const Target& host_target() {
  static const Target* chosen = [] {
    std::vector<const Target*> list = supported_targets();
    if (const char* wanted = std::getenv("TILEWRIGHT_TARGET"))
      for (const Target* t : list)
        if (std::string_view(t->name) == wanted) return t;
    return list.back();
  }();
  return *chosen;
}

}  // namespace tw::emu
