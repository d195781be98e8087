// Turns lane rows into handlers, for one instruction set (TW_TARGET) and one group of rows
// (TW_GROUP_*). Compiled several times with different flags by CMake; everything lies in the inline
// namespace TW_TARGET, so that no symbol is shared between the copies.
//
// A handler is a loop over 32 lanes: scalar bodies, which the compiler vectorises, or a body on
// vectors of lanes where the row has one (isa/vector.h). Variants:
//   mixed    full mask, each source known at compile time to be per-lane or scalar
//   full     full mask, which sources are scalar is read from the Op
//   masked   only active lanes are written; bodies do not trap, so all 32 are computed
//   uniform  scalars in, scalar out
//   branching  mixed, for a predicate that the next instruction branches on
#include "emu/lane_handlers.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <tuple>
#include <utility>

#include "emu/compare_lanes.h"
#include "emu/lane_mask.h"
#include "emu/lane_operands.h"
#include "emu/mask_rows.h"
#include "isa/lane_rows.h"
#include "isa/vector.h"

namespace tw::emu {
inline namespace TW_TARGET {
namespace {

using isa::Cpp;
using isa::Field;
using isa::Mods;
using isa::Type;

// ---- bodies as callables: Body<M>::call(m, lane values...) ----

template <class Row>
concept HasVectors = Row::kVectors;
template <class Row>
concept HasRuntimeVectors = Row::kRuntimeVectors;
template <class Row>
concept HasDoubleVectors = Row::kDoubleVectors;
// Comparisons, whose masks compare_lanes.h makes of whole vectors.
template <class Row>
concept Compares = Row::kCompares;
template <class Row> constexpr bool uniform_source([[maybe_unused]] size_t source) {
  if constexpr (requires { Row::kUniformSource; })
    return source == Row::kUniformSource;
  else
    return false;
}
template <class Row, class D, class S> constexpr bool vector_types() {
  if constexpr (requires { Row::template kVectorTypes<D, S>; })
    return Row::template kVectorTypes<D, S>;
  else
    return false;
}
// Instructions on pairs that do the same to each half: 64 halves, for a body on vectors.
template <class Row>
concept EachHalf = Row::kEachHalf;
// ... but of bf16, whose pairs are spread over floats more easily than they are taken apart.
template <class Row>
concept SpreadsPairs = Row::kSpreadsPairs;
// Bodies that take vectors of 64-bit elements apart themselves: the others fill vectors.
template <class Row, class D, class S> constexpr bool takes_wide() {
  if constexpr (requires { Row::template kTakesWide<D, S>; })
    return Row::template kTakesWide<D, S>;
  else
    return false;
}
template <class Row> constexpr size_t work_bytes() {
  if constexpr (requires { Row::kWorkBytes; })
    return Row::kWorkBytes;
  else
    return 4;
}

template <class Row, class D, class S> constexpr isa::HostMode host_mode() {
  if constexpr (isa::kHasHostRounding && requires { Row::template kHostMode<D, S>; })
    return Row::template kHostMode<D, S>;
  else
    return isa::HostMode::none;
}

template <class Row, class T> struct OneType {
  static constexpr bool kDouble = std::is_same_v<T, double>;
  static constexpr bool kVectors = HasVectors<Row> || vector_types<Row, T, T>(),
                        kCompares = Compares<Row>;
  static constexpr isa::HostMode kHostMode = host_mode<Row, T, T>();
  static constexpr bool kEachHalf =
      EachHalf<Row> && !(SpreadsPairs<Row> && std::is_same_v<T, isa::BF16x2>);
  static constexpr bool kRuntimeVectors =
      HasRuntimeVectors<Row> && (!kDouble || HasDoubleVectors<Row>);
  static constexpr size_t kWorkBytes = work_bytes<Row>();
  static constexpr bool kTakesWide = takes_wide<Row, T, T>();
  static constexpr bool always_uniform(size_t source) { return uniform_source<Row>(source); }
  template <class E> using Flat = std::conditional_t<kEachHalf, OfHalf<E>, E>;
  template <size_t N, class M, class... V> TW_INLINE static auto vectors(M m, V... v) {
    return Row::template lane<typename isa::VectorOf<Flat<T>, N>::type, M>(m, v...);
  }
  template <class M, class... S> TW_INLINE static auto call(M m, S... s) {
    return Row::template lane<T, M>(m, s...);
  }
  template <class M> static constexpr auto pointer() { return &Row::template lane<T, M>; }
};
template <class Row, class D, class S1> struct TwoTypes {
  static constexpr bool kDouble = std::is_same_v<D, double> && std::is_same_v<S1, double>;
  static constexpr bool kVectors = HasVectors<Row> || vector_types<Row, D, S1>(),
                        kEachHalf = EachHalf<Row>, kCompares = Compares<Row>;
  static constexpr bool kRuntimeVectors = HasRuntimeVectors<Row> && !kDouble;
  static constexpr isa::HostMode kHostMode = host_mode<Row, D, S1>();
  static constexpr size_t kWorkBytes = work_bytes<Row>();
  static constexpr bool kTakesWide = takes_wide<Row, D, S1>();
  static constexpr bool always_uniform(size_t source) { return uniform_source<Row>(source); }
  template <class E> using Flat = std::conditional_t<kEachHalf, OfHalf<E>, E>;
  template <size_t N, class M, class... V> TW_INLINE static auto vectors(M m, V... v) {
    return Row::template lane2<typename isa::VectorOf<Flat<D>, N>::type,
                               typename isa::SourceOf<Flat<S1>, N>::type, M>(m, v...);
  }
  template <class M, class... S> TW_INLINE static auto call(M m, S... s) {
    return Row::template lane2<D, S1, M>(m, s...);
  }
  template <class M> static constexpr auto pointer() { return &Row::template lane2<D, S1, M>; }
};

// What a .cc form leaves in the condition code.
template <class Row, class T> struct CarryOf {
  static constexpr bool kDouble = false, kVectors = sizeof(T) == 8, kRuntimeVectors = false;
  static constexpr bool kEachHalf = false, kCompares = false, kTakesWide = false;
  static constexpr isa::HostMode kHostMode = isa::HostMode::none;
  static constexpr size_t kWorkBytes = sizeof(T);
  static constexpr bool always_uniform(size_t) { return false; }
  template <class E> using Flat = E;
  template <size_t N, class M, class... V> TW_INLINE static auto vectors(M m, V... v) {
    return Row::template carry<typename isa::VectorOf<T, N>::type, M>(m, v...);
  }
  template <class M, class... S> TW_INLINE static bool call(M m, S... s) {
    return Row::template carry<T, M>(m, s...);
  }
  template <class M> static constexpr auto pointer() { return &Row::template carry<T, M>; }
};

template <class F> struct SignatureOf;
template <class D, class M, class... S> struct SignatureOf<D (*)(M, S...)> {
  using Destination = D;
  static constexpr size_t kSources = sizeof...(S);
};

template <bool kMasked>
TW_INLINE void store_mask(const Op* op, char* frame, const Warp* warp, uint32_t mask) {
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + op->d);
  *d = kMasked ? (mask & warp->active) | (*d & ~warp->active) : mask;
}

// Where a warp goes after `op`, which has computed the predicate `mask` of the branch behind it.
// That branch itself runs only where the lanes part or the warp may have to yield.
TW_INLINE const Op* after_branch(const Op* op, Warp* warp, uint32_t mask) {
  const Op* branch = op + 1;
  const uint32_t taken = ((branch->flags & kNegated) ? ~mask : mask) & warp->active;
  if (taken == 0) return op + 2;
  if (taken != warp->active) return branch;
  if (branch->flags & kBackward) {
    if (warp->fuel <= 1) return branch;
    --warp->fuel;
  }
  return branch->target;
}

// f over all lanes, whose result is a predicate.
template <class F> TW_INLINE uint32_t mask_of(F f) {
  alignas(64) uint32_t hit[kLanes];
#pragma GCC ivdep
  for (uint32_t l = 0; l < kLanes; ++l) hit[l] = f(l) ? 0xffffffffu : 0u;
  return mask_of_lanes(hit);
}
// The lanes of a mask from `values`, the others as they are.
template <class Slot> TW_INLINE void blend(Slot* d, const Slot* values, uint32_t mask) {
  if constexpr (kMaskedStores) {
    store_active(d, values, mask);
  } else {
    alignas(64) uint32_t active[kLanes];
    lanes_of_mask(mask, active);
#pragma GCC ivdep
    for (uint32_t l = 0; l < kLanes; ++l) {
      Slot value = values[l];
      Slot old = d[l];
      d[l] = active[l] ? value : old;
    }
  }
}

// Runs f over all lanes and stores: to lanes, or as a mask when the result is a predicate.
template <bool kMasked, class D, class F>
TW_INLINE void store_lanes(const Op* op, char* frame, [[maybe_unused]] Warp* warp, F f) {
  if constexpr (std::is_same_v<D, bool>) {
    store_mask<kMasked>(op, frame, warp, mask_of(f));
  } else {
    using Slot = typename Stored<D>::type;
    Slot* d = reinterpret_cast<Slot*>(frame + op->d);
    if constexpr (kMasked && kMaskedStores) {
      alignas(64) Slot r[kLanes];
#pragma GCC ivdep
      for (uint32_t l = 0; l < kLanes; ++l) r[l] = slot_of<D>(f(l));
      store_active(d, r, warp->active);
    } else if constexpr (kMasked) {
      alignas(64) uint32_t active[kLanes];
      lanes_of_mask(warp->active, active);
#pragma GCC ivdep
      for (uint32_t l = 0; l < kLanes; ++l) {
        Slot r = slot_of<D>(f(l));
        Slot old = d[l];
        d[l] = active[l] ? r : old;
      }
    } else {
#pragma GCC ivdep
      for (uint32_t l = 0; l < kLanes; ++l) d[l] = slot_of<D>(f(l));
    }
  }
}

template <class Body, class M, class D, class... S> struct Handlers {
  template <size_t I> using SourceType = std::tuple_element_t<I, std::tuple<S...>>;
  template <size_t I> using Slot = EitherSlot<I, SourceType<I>, Body::always_uniform(I)>;
  template <class T> using Flat = typename Body::template Flat<T>;

  // Rows for which emu/mask_rows.h has a form.
  template <bool kMasked, bool kBranches, uint32_t kUniformBits>
  TW_INLINE static const Op* run_mask_row(const Op* op, char* frame, Warp* warp) {
    const auto* active = kMasked ? &warp->active : nullptr;
    if constexpr (std::is_same_v<D, bool>) {
      const uint32_t mask =
          MaskRow<Body, M>::template compute<kUniformBits>(frame + op->a, frame + op->b);
      store_mask<kMasked>(op, frame, warp, mask);
      if constexpr (kBranches) TW_GO(after_branch(op, warp, mask));
    } else {
      MaskRow<Body, M>::template compute<kUniformBits>(frame + op->d, active, frame + op->a,
                                                       frame + op->b, frame + op->c);
    }
    TW_NEXT;
  }
  template <bool kMasked, bool kBranches, uint32_t kUniformBits, size_t... I>
  TW_INLINE static const Op* run_mixed([[maybe_unused]] const Op* op, [[maybe_unused]] char* frame,
                                       [[maybe_unused]] Warp* warp, std::index_sequence<I...>) {
    if constexpr (MaskRow<Body, M>::exists)
      return run_mask_row<kMasked, kBranches, kUniformBits>(op, frame, warp);
    M m(static_cast<const Mods*>(op->extra));
    auto sources = [&]<size_t... J>(std::index_sequence<J...>) {
      return std::tuple<
          std::conditional_t<((kUniformBits >> J) & 1) != 0, UniformSource<S>, LaneSource<S>>...>(
          frame + source_offset<J>(op)...);
    }(std::index_sequence<I...>{});
    auto value = [&](uint32_t l) __attribute__((always_inline)) {
      return Body::call(m, std::get<I>(sources)[l]...);
    };
    if constexpr (kBranches) {
      const uint32_t mask = mask_of(value);
      store_mask<kMasked>(op, frame, warp, mask);
      TW_GO(after_branch(op, warp, mask));
    } else {
      store_lanes<kMasked, D>(op, frame, warp, value);
      TW_NEXT;
    }
  }
  // Out of line: a function whose locals' addresses are taken cannot end in a tail call.
  template <bool kMasked, size_t... I>
  [[gnu::noinline]] static void compute_either([[maybe_unused]] const Op* op,
                                               [[maybe_unused]] char* frame,
                                               [[maybe_unused]] Warp* warp,
                                               std::index_sequence<I...>) {
    M m(static_cast<const Mods*>(op->extra));
    uint32_t flags = op->flags;
    struct Sources : Slot<I>... {
      TW_INLINE Sources(const Op* o, const char* f, uint32_t bits)
          : Slot<I>(f + source_offset<I>(o), (bits >> I) & 1)... {}
    } sources(op, frame, flags);
    store_lanes<kMasked, D>(op, frame, warp, [&](uint32_t l) __attribute__((always_inline)) {
      return Body::call(m, sources.Slot<I>::source[l]...);
    });
  }
  template <bool kMasked, size_t... I>
  [[gnu::noinline]] static void compute_vectors(const Op* op, char* frame,
                                                [[maybe_unused]] Warp* warp,
                                                std::index_sequence<I...>) {
    M m(static_cast<const Mods*>(op->extra));
    struct Sources : Slot<I>... {
      TW_INLINE Sources(const Op* o, const char* f, uint32_t bits)
          : Slot<I>(f + source_offset<I>(o), (bits >> I) & 1)... {}
    } sources(op, frame, op->flags);
    constexpr size_t kElements =
        kLanes * sizeof(typename Stored<D>::type) / sizeof(typename Stored<Flat<D>>::type);
    constexpr size_t kWidest = std::max(
        {Body::kWorkBytes, size_t{kElementBytes<Flat<D>>}, size_t{kElementBytes<Flat<S>>}...});
    constexpr size_t N = isa::kVectorBytes / (Body::kTakesWide ? Body::kWorkBytes : kWidest);
    using Element =
        std::conditional_t<std::is_same_v<D, bool>, uint32_t, typename Stored<Flat<D>>::type>;
    [[maybe_unused]] uint32_t mask = 0;
    alignas(64) Element buffer[std::is_same_v<D, bool> ? 1 : kElements];
    Element* out = buffer;
    if constexpr (!kMasked && !std::is_same_v<D, bool>)
      out = reinterpret_cast<Element*>(frame + op->d);
    auto compute = [&](M mods) TW_INLINE_LAMBDA {
      for (size_t l = 0; l < kElements; l += N) {
        auto result = Body::template vectors<N>(
            mods, vector_at<N, Flat<S>>(sources.Slot<I>::source.values, l)...);
        if constexpr (std::is_same_v<D, bool>) {
          mask |= bits_of(result) << l;
        } else {
          store_slots<Flat<D>>(out + l, result);
        }
      }
    };
    if constexpr (Body::kHostMode == isa::HostMode::none) {
      compute(m);
    } else {
      constexpr bool kArithmetic = Body::kHostMode == isa::HostMode::arithmetic_unless_ftz;
      const uint8_t rnd = m[Field::rnd];
      if (rnd == isa::kRn || (kArithmetic && m[Field::ftz])) {
        compute(m);
      } else {
        if constexpr (kArithmetic && std::is_same_v<M, isa::Runtime>)
          m.mods = m.mods.with(Field::rnd, isa::kRn);
        const isa::HostRounding mode(rnd, &sources, out);
        compute(m);
      }
    }
    if constexpr (std::is_same_v<D, bool>) {
      store_mask<kMasked>(op, frame, warp, mask);
    } else if constexpr (kMasked) {
      using Slot = typename Stored<D>::type;
      blend(reinterpret_cast<Slot*>(frame + op->d), reinterpret_cast<const Slot*>(buffer),
            warp->active);
    }
  }
  // A comparison of the first two sources, joined with the third if there is one, as a mask or as
  // lanes that say 1 or 0. Pairs are 64 halves: a predicate is of one half each, a value of both.
  template <bool kMasked>
  [[gnu::noinline]] static void compute_comparison(const Op* op, char* frame,
                                                   [[maybe_unused]] Warp* warp) {
    using S0 = SourceType<0>;
    M m(static_cast<const Mods*>(op->extra));
    const EitherSource<S0> a(frame + op->a, (op->flags & 1) != 0);
    const EitherSource<S0> b(frame + op->b, (op->flags & 2) != 0);
    const auto relations = compare_lanes<S0>(m[Field::cmp], m[Field::ftz] != 0, a.values, b.values);
    auto joined = [&](auto bits) TW_INLINE_LAMBDA {
      if constexpr (sizeof...(S) == 3) {
        const uint32_t c = *reinterpret_cast<const uint32_t*>(frame + op->c);
        if constexpr (sizeof bits == 8)
          return isa::combine(m[Field::boolop], bits, both_halves(c));
        else
          return isa::combine(m[Field::boolop], bits, c);
      } else {
        return bits;
      }
    };
    if constexpr (std::is_same_v<D, bool>) {
      const bool second = m[Field::operation] != 0;
      if constexpr (isa::kIsPair<S0>)
        store_mask<kMasked>(op, frame, warp, joined(one_half(second ? relations >> 1 : relations)));
      else
        store_mask<kMasked>(op, frame, warp, joined(second ? ~relations : relations));
    } else {
      using Flat = std::conditional_t<isa::kIsPair<S0>, OfHalf<D>, D>;
      using Slot = typename Stored<D>::type;
      using Part = typename Stored<Flat>::type;
      alignas(64) Part buffer[kLanes * sizeof(Slot) / sizeof(Part)];
      Part* out = kMasked ? buffer : reinterpret_cast<Part*>(frame + op->d);
      spread_mask(joined(relations), slot_of<Flat>(isa::truth<Flat>(true)), out);
      if constexpr (kMasked)
        blend(reinterpret_cast<Slot*>(frame + op->d), reinterpret_cast<const Slot*>(buffer),
              warp->active);
    }
  }
  template <size_t... I>
  TW_INLINE static const Op* run_uniform([[maybe_unused]] const Op* op,
                                         [[maybe_unused]] char* frame, [[maybe_unused]] Warp* warp,
                                         std::index_sequence<I...>) {
    M m(static_cast<const Mods*>(op->extra));
    D result = Body::call(m, scalar_value<S>(frame + source_offset<I>(op))...);
    if constexpr (std::is_same_v<D, bool>) {
      *reinterpret_cast<uint32_t*>(frame + op->d) = result ? kFullMask : 0u;
    } else {
      *reinterpret_cast<typename Stored<D>::type*>(frame + op->d) = slot_of<D>(result);
    }
    TW_NEXT;
  }

  using Index = std::index_sequence_for<S...>;
  template <bool kMasked, bool kBranches, uint32_t kUniformBits>
  static const Op* mixed(TW_HANDLER_ARGS) {
    return run_mixed<kMasked, kBranches, kUniformBits>(op, frame, warp, Index{});
  }
  static constexpr bool kRuntime = std::is_same_v<M, isa::Runtime>;
  static constexpr bool kByRelation = Body::kCompares && kRuntime;
  static constexpr bool kOnVectors =
      kByRelation || Body::kVectors || (Body::kRuntimeVectors && kRuntime);
  template <bool kMasked> static const Op* either(TW_HANDLER_ARGS) {
    if constexpr (kByRelation)
      compute_comparison<kMasked>(op, frame, warp);
    else if constexpr (kOnVectors)
      compute_vectors<kMasked>(op, frame, warp, Index{});
    else
      compute_either<kMasked>(op, frame, warp, Index{});
    TW_NEXT;
  }
  static const Op* uniform(TW_HANDLER_ARGS) { return run_uniform(op, frame, warp, Index{}); }

  // With variants: the commonest modifiers of the commonest rows. Scalar bodies with runtime
  // modifiers, and predicates: one handler for both masks.
  template <bool kVariants> static constexpr HandlerSet set() {
    HandlerSet s;
    if constexpr (kVariants && sizeof...(S) <= 3) {
      fill<false>(s, Variants{});
      if constexpr (std::is_same_v<D, bool> && ((sizeof(S) == 4) && ...)) s.branching = &kBranching;
    }
    s.full =
        either < std::is_same_v<M, isa::Runtime> && (!kOnVectors || std::is_same_v<D, bool>) > ;
    s.masked = either<true>;
    s.uniform = uniform;
    return s;
  }
  using Variants = std::make_index_sequence<(size_t{1} << sizeof...(S)) - 1>;
  static constexpr BranchHandlers branching() {
    BranchHandlers b;
    fill<true>(b, Variants{});
    return b;
  }
  static constexpr BranchHandlers kBranching = branching();
  template <bool kBranches, class Set, size_t... B>
  static constexpr void fill(Set& s, std::index_sequence<B...>) {
    ((s.mixed[B] = mixed<false, kBranches, B>, s.mixed_masked[B] = mixed<true, kBranches, B>), ...);
  }
};

// Predicate rows: masks in, mask out.
template <class Row, class M> struct MaskHandlers {
  template <size_t... I>
  TW_INLINE static uint32_t value(const Op* op, const char* frame, std::index_sequence<I...>) {
    M m(static_cast<const Mods*>(op->extra));
    return Row::template masks<bool, M>(
        m, *reinterpret_cast<const uint32_t*>(frame + source_offset<I>(op))...);
  }
  template <class F> struct Count;
  template <class R, class M0, class... S> struct Count<R (*)(M0, S...)> {
    static constexpr size_t value = sizeof...(S);
  };
  static constexpr size_t kSources = Count<decltype(&Row::template masks<bool, M>)>::value;
  template <bool kMasked, bool kBranches> static const Op* run(TW_HANDLER_ARGS) {
    const uint32_t mask = value(op, frame, std::make_index_sequence<kSources>{});
    store_mask<kMasked>(op, frame, warp, mask);
    if constexpr (kBranches) TW_GO(after_branch(op, warp, mask));
    TW_NEXT;
  }
  static constexpr BranchHandlers kBranching{{run<false, true>}, {run<true, true>}};
  static constexpr HandlerSet set() {
    HandlerSet s;
    s.mixed[0] = s.full = s.uniform = run<false, false>;
    s.mixed_masked[0] = s.masked = run<true, false>;
    s.branching = &kBranching;
    return s;
  }
};

// ---- the tables ----

template <class Row>
concept HasReads = requires { Row::kReads; };
template <class Row>
concept HasFixed = requires { Row::kFixed; };
template <class Row>
concept HasVariants = requires { Row::kOperandVariants; };

template <class Row> constexpr std::span<const Field> reads_of() {
  if constexpr (HasReads<Row>)
    return Row::kReads;
  else
    return {};
}

template <class Row> constexpr size_t variants_of() {
  if constexpr (HasVariants<Row>)
    return Row::kOperandVariants;
  else
    return 0;
}

template <class Call, class F> struct Bind;
template <class Call, class D, class M, class... S> struct Bind<Call, D (*)(M, S...)> {
  using type = Handlers<Call, M, D, S...>;
  static void describe(LaneEntry& e) {
    e.sources = sizeof...(S);
    e.destination_bytes = kElementBytes<D>;
    if constexpr (std::is_arithmetic_v<D>) e.destination_signed = std::is_signed_v<D>;
    size_t i = 0;
    ((e.source_bytes[i++] = kElementBytes<S>), ...);
  }
};
template <class Call, class M>
using HandlersOf = typename Bind<Call, decltype(Call::template pointer<M>())>::type;

// f64 knows neither .ftz nor .sat: those spellings run the plain handler.
template <class Call> constexpr Mods effective(Mods mods) {
  return Call::kDouble ? mods.with(Field::ftz, 0).with(Field::sat, 0) : mods;
}

template <class Row, class Call> LaneEntry make_entry(Type type, Type type2) {
  LaneEntry e;
  e.type = type;
  e.type2 = type2;
  if constexpr (HasFixed<Row>) {
    static const auto fixed = []<size_t... I>(std::index_sequence<I...>) {
      return std::array{FixedHandlers{
          Row::kFixed[I],
          HandlersOf<Call, isa::Fixed<effective<Call>(Row::kFixed[I])>>::template set<(
              I < variants_of<Row>())>()}...};
    }(std::make_index_sequence<std::size(Row::kFixed)>{});
    e.fixed = fixed;
  } else if constexpr (!HasReads<Row>) {
    static const FixedHandlers only[1] = {
        {Mods{}, HandlersOf<Call, isa::Fixed<Mods{}>>::template set<(variants_of<Row>() > 0)>()}};
    e.fixed = only;
  }
  if constexpr (requires { Row::kUniformSource; }) e.constant_source = Row::kUniformSource;
  if constexpr (HasReads<Row>) e.runtime = HandlersOf<Call, isa::Runtime>::template set<false>();
  Bind<Call, decltype(Call::template pointer<isa::Runtime>())>::describe(e);
  return e;
}

// The C++ type a row's body is compiled for.
template <class T> struct BitsOf {
  using type = T;
};
template <> struct BitsOf<float> {
  using type = uint32_t;
};
template <> struct BitsOf<double> {
  using type = uint64_t;
};
template <class T> struct SignlessOf {
  using type = T;
};
template <std::signed_integral T> struct SignlessOf<T> {
  using type = std::make_unsigned_t<T>;
};
template <class Row, Type t> struct BodyType {
  using type = Cpp<t>;
};
template <class Row, Type t>
  requires requires { Row::kSignless; }
struct BodyType<Row, t> {
  using type = typename SignlessOf<Cpp<t>>::type;
};
template <class Row, Type t>
  requires requires { Row::kBitsOnly; }
struct BodyType<Row, t> {
  using type = typename SignlessOf<typename BitsOf<Cpp<t>>::type>::type;
};
template <class Row, Type t> using Body = typename BodyType<Row, t>::type;
template <Type t> void set_sign(LaneEntry& e) {
  if constexpr (std::is_integral_v<Cpp<t>>)
    e.destination_signed =
        e.destination_bytes == sizeof(Cpp<t>) ? std::is_signed_v<Cpp<t>> : e.destination_signed;
}

template <class Row, Type t> LaneEntry make_one() {
  LaneEntry e = make_entry<Row, OneType<Row, Body<Row, t>>>(t, Type::none);
  set_sign<t>(e);
  return e;
}
template <class Row, Type t, Type t2> LaneEntry make_two() {
  LaneEntry e = make_entry<Row, TwoTypes<Row, Body<Row, t>, Cpp<t2>>>(t, t2);
  set_sign<t>(e);
  return e;
}

template <class Row> LaneRowHandlers make_row() {
  static const auto entries = [] {
    if constexpr (requires { &Row::template masks<bool, isa::Runtime>; }) {
      using H = MaskHandlers<Row, isa::Fixed<Mods{}>>;
      static const FixedHandlers only[1] = {{Mods{}, H::set()}};
      LaneEntry e;
      e.type = Type::pred;
      e.sources = H::kSources;
      e.fixed = only;
      return std::array<LaneEntry, 1>{e};
    } else if constexpr (requires { &Row::template carry<uint32_t, isa::Runtime>; }) {
      return []<size_t... I>(std::index_sequence<I...>) {
        return std::array{make_one<Row, Row::info.types[I]>()...,
                          make_entry<Row, CarryOf<Row, Body<Row, Row::info.types[I]>>>(
                              Row::info.types[I], Type::pred)...};
      }(std::make_index_sequence<Row::info.types.size()>{});
    } else if constexpr (Row::info.types2.empty()) {
      return []<size_t... I>(std::index_sequence<I...>) {
        return std::array{make_one<Row, Row::info.types[I]>()...};
      }(std::make_index_sequence<Row::info.types.size()>{});
    } else {
      constexpr size_t kSecond = Row::info.types2.size();
      return []<size_t... I>(std::index_sequence<I...>) {
        return std::array{
            make_two<Row, Row::info.types[I / kSecond], Row::info.types2[I % kSecond]>()...};
      }(std::make_index_sequence<Row::info.types.size() * kSecond>{});
    }
  }();
  return {reads_of<Row>(), entries};
}

template <class... Rows> std::span<const LaneRowHandlers> make_group(isa::RowList<Rows...>) {
  static const std::array rows{make_row<Rows>()...};
  return rows;
}

}  // namespace

// Exported by name; declared in targets.cpp.
std::span<const LaneRowHandlers> TW_GROUP_FUNCTION() { return make_group(isa::TW_GROUP_ROWS{}); }

}  // namespace TW_TARGET
}  // namespace tw::emu
