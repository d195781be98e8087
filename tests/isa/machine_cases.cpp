#include "machine_cases.h"

#include <fmt/format.h>

#include <cstring>

#include "case_list.h"
#include "ptx/parser.h"

namespace tw::isa_test {
namespace {

uint32_t bits_of(std::string_view type) {
  const ValueKind kind = value_kind(type);
  return uint32_t(kind.bits) * kind.elements;
}
bool is_float(std::string_view type) { return type[0] == 'f' || type.starts_with("bf"); }

// A slot of 16 bytes for every thread, its address in %p.
struct Slot {
  std::string inside, outside;
};
Slot slot_in(std::string_view space, bool generic = false) {
  std::string inside = ".reg .b64 %p;\n", outside;
  if (space == "global") {
    outside = ".global .align 16 .b8 @K_slots[8192];\n";
    inside += "mov.u64 %p, @K_slots;\nmul.wide.u32 %k, %t, 16;\nadd.u64 %p, %p, %k;\n";
  } else if (space == "shared") {
    inside +=
        ".shared .align 16 .b8 slots[8192];\nmov.u64 %p, slots;\nmul.wide.u32 %k, %t, 16;\n"
        "add.u64 %p, %p, %k;\n";
  } else {
    inside += ".local .align 16 .b8 slots[16];\nmov.u64 %p, slots;\n";
  }
  if (generic) inside += fmt::format("cvta.{}.u64 %p, %p;\n", space);
  return {inside, outside};
}

// %p becomes the slot, in shared memory, of the thread whose number differs in these bits.
std::string partner(int bits) {
  return fmt::format(
      "xor.b32 %m, %t, {};\nmul.wide.u32 %k, %m, 16;\nmov.u64 %p, slots;\n"
      "add.u64 %p, %p, %k;\n",
      bits);
}

// Joins further values into %r.
std::string join(const std::string& reg) {
  return fmt::format("mad.lo.u64 %r, %r, 0x9e3779b97f4a7c15, {};\n", reg);
}

// Destination registers of a load or sources of a store: 64 bits wide where the type may be
// extended.
std::string memory_register(std::string_view type) {
  return is_float(type) && bits_of(type) == 32 ? "b32" : "b64";
}

const Words kTypes = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                      "u32", "s32", "b64", "u64", "s64", "f32", "f64"};

// A load of one or several values, joined.
std::string load(const std::string& spelling, std::string_view type, int vector,
                 const std::string& address) {
  std::string text, list;
  for (int i = 0; i < vector; i++) {
    text += fmt::format(".reg .{} %d{};\n", memory_register(type), i);
    list += fmt::format("{}%d{}", i ? ", " : "", i);
  }
  text += fmt::format("{} {}, [{}];\nmov.u64 %r, 0;\n", spelling,
                      vector > 1 ? "{" + list + "}" : list, address);
  for (int i = 0; i < vector; i++) {
    const std::string value = fmt::format("%d{}", i);
    if (memory_register(type) == "b32")
      text += fmt::format("cvt.u64.u32 %k, {};\n", value) + join("%k");
    else
      text += join(value);
  }
  return text;
}

std::string store(const std::string& spelling, std::string_view type, int vector,
                  const std::string& address) {
  std::string text, list;
  for (int i = 0; i < vector; i++) {
    text += fmt::format(".reg .{} %v{};\n", memory_register(type), i);
    text += memory_register(type) == "b32" ? fmt::format("cvt.u32.u64 %v{}, %w{};\n", i, i & 1)
                                           : fmt::format("mov.b64 %v{}, %w{};\n", i, i & 1);
    if (i > 1) text += fmt::format("not.{} %v{}, %v{};\n", memory_register(type), i, i);
    list += fmt::format("{}%v{}", i ? ", " : "", i);
  }
  return text +
         fmt::format("{} [{}], {};\n", spelling, address, vector > 1 ? "{" + list + "}" : list);
}

std::string joined_words(const std::string& space) {
  return fmt::format(".reg .b64 %lo, %hi;\nld{}.v2.b64 {{%lo, %hi}}, [%p];\nmov.b64 %r, %lo;\n",
                     space) +
         join("%hi");
}

void memory_cases(Cases& cases) {
  struct Where {
    std::string_view space;
    bool generic;
    std::string dot() const { return generic ? "" : "." + std::string(space); }
  };
  const Where wheres[] = {{"global", false}, {"shared", false}, {"local", false},
                          {"global", true},  {"shared", true},  {"local", true}};
  const Words two = {"u64", "u64"};
  for (const Where& where : wheres) {
    const Slot slot = slot_in(where.space, where.generic);
    const std::string dot = where.dot(),
                      note = where.generic ? fmt::format(" {}", where.space) : "";
    for (const std::string& type : kTypes)
      for (const int vector : {1, 2, 4}) {
        const uint32_t bytes = bits_of(type) / 8 * uint32_t(vector);
        if (bytes > 16) continue;
        const std::string vec = vector > 1 ? fmt::format(".v{}", vector) : "";
        const std::string address = fmt::format("%p+{}", 16 - bytes);
        const std::string fill = fmt::format("st{}.v2.b64 [%p], {{%w0, %w1}};\n", dot);
        const std::string ld = fmt::format("ld{}{}.{}", dot, vec, type);
        cases.add(ld + note, two, slot.inside + fill + load(ld, type, vector, address),
                  slot.outside);
        const std::string clear = fmt::format(
            ".reg .b64 %c;\nmov.b64 %c, 0xa5a5a5a5a5a5a5a5;\nst{}.v2.b64 [%p], {{%c, %c}};\n", dot);
        const std::string st = fmt::format("st{}{}.{}", dot, vec, type);
        cases.add(st + note, two,
                  slot.inside + clear + store(st, type, vector, address) + joined_words(dot),
                  slot.outside);
      }
    if (where.space == "local" && !where.generic) continue;
    // Orderings and scopes; hints.
    Words orders = {".weak", ".volatile"};
    for (const char* scope : {".cta", ".cluster", ".gpu", ".sys"})
      for (const char* order : {".relaxed", ".acquire"})
        orders.push_back(std::string(order) + scope);
    if (where.space != "local")
      for (const std::string& order : orders)
        for (const char* type : {"u32", "b64"}) {
          const std::string ld = fmt::format("ld{}{}.{}", order, dot, type);
          std::string of_store = order;
          if (order.starts_with(".acquire")) of_store = ".release" + order.substr(8);
          const std::string st = fmt::format("st{}{}.{}", of_store, dot, type);
          cases.add(ld + note, two,
                    slot.inside + store(st, type, 1, "%p") + load(ld, type, 1, "%p"), slot.outside);
          const std::string clear = fmt::format("st{}.v2.b64 [%p], {{%w1, %w1}};\n", dot);
          cases.add(st + note, two,
                    slot.inside + clear + store(st, type, 1, "%p") + joined_words(dot),
                    slot.outside);
        }
    if (where.space != "global") continue;
    for (const char* cache :
         {".ca", ".cg", ".cs", ".lu", ".cv", ".L1::evict_last", ".L1::no_allocate", ".L2::128B"}) {
      const std::string ld = fmt::format("ld{}{}.u32", dot, cache);
      cases.add(ld + note, two,
                slot.inside + fmt::format("st{}.v2.b64 [%p], {{%w0, %w1}};\n", dot) +
                    load(ld, "u32", 1, "%p+4"),
                slot.outside);
    }
    for (const char* cache : {".wb", ".cg", ".cs", ".wt", ".L1::evict_first"}) {
      const std::string st = fmt::format("st{}{}.u32", dot, cache);
      cases.add(st + note, two,
                slot.inside + fmt::format("st{}.v2.b64 [%p], {{%w1, %w1}};\n", dot) +
                    store(st, "u32", 1, "%p+4") + joined_words(dot),
                slot.outside);
    }
  }
  for (const char* type : {"u8", "s16", "b32", "v2.u32", "v4.f32", "b64"}) {
    const std::string ld = fmt::format("ld.global.nc.{}", type);
    const int vector = type[0] == 'v' ? type[1] - '0' : 1;
    // The inputs lie 16 bytes apart; every second tuple is read whole.
    cases.add(ld, two, load(ld, vector > 1 ? type + 3 : type, vector, "%in"));
  }
  for (const char* type :
       {"u8", "s8", "u16", "s16", "b32", "u32", "s32", "b64", "f32", "f64", "v2.u32"}) {
    const std::string ld = fmt::format("ld.const.{}", type);
    const int vector = type[0] == 'v' ? 2 : 1;
    cases.add(
        ld, {"u32"},
        ".reg .b64 %p;\nand.b32 %m, %a0, 7;\nmul.wide.u32 %k, %m, 8;\nmov.u64 %p, @K_constants;\n"
        "add.u64 %p, %p, %k;\n" +
            load(ld, vector > 1 ? type + 3 : type, vector, "%p"),
        ".const .align 8 .b64 @K_constants[8] = {1, 0xffffffffffffff80, 0x8000000080008081, "
        "0x3ff0000040490fdb, 0x123456789abcdef0, 0, 0x7fffffff7fff7f7f, 0xfedcba9876543210};\n");
  }
}

// Each thread has a word of its own: what one operation gives and leaves.
void atomic_cases(Cases& cases) {
  struct Form {
    const char* operation;
    Words types;
  };
  const Form forms[] = {{"add", {"u32", "s32", "u64", "f32", "f64"}},
                        {"add.noftz", {"f16", "f16x2", "bf16", "bf16x2"}},
                        {"min", {"u32", "s32", "u64", "s64"}},
                        {"max", {"u32", "s32", "u64", "s64"}},
                        {"and", {"b32", "b64"}},
                        {"or", {"b32", "b64"}},
                        {"xor", {"b32", "b64"}},
                        {"inc", {"u32"}},
                        {"dec", {"u32"}},
                        {"exch", {"b32", "b64"}},
                        {"cas", {"b16", "b32", "b64"}}};
  const auto one = [&](const std::string& spelling, const std::string& type, std::string_view space,
                       bool generic, bool result) {
    const Slot slot = slot_in(space, generic);
    const bool cas = spelling.find(".cas") != std::string::npos;
    const std::string dot = generic ? "" : "." + std::string(space);
    const uint32_t bits = bits_of(type);
    std::string body = slot.inside + fmt::format(".reg .b{} %d;\n", bits);
    body += fmt::format("st{}.v2.b64 [%p], {{%w0, %w1}};\n", dot);
    if (cas) body += fmt::format("@%odd mov.b{} %a1, %a0;\n", bits);
    body += result ? fmt::format("{} %d, [%p], %a1{};\n", spelling, cas ? ", %a2" : "")
                   : fmt::format("{} [%p], %a1;\nmov.b{} %d, 0;\n", spelling, bits);
    body += joined_words(dot);
    body += bits == 64 ? "mov.b64 %k, %d;\n" : fmt::format("cvt.u64.u{} %k, %d;\n", bits);
    body += join("%k");
    cases.add(spelling + (generic ? fmt::format(" {}", space) : ""),
              cas ? Words{type, type, type} : Words{type, type}, body, slot.outside);
  };
  for (const Form& form : forms)
    for (const std::string& type : form.types)
      for (const bool result : {true, false}) {
        const std::string operation = form.operation;
        if (!result && (operation == "exch" || operation == "cas")) continue;
        const char* opcode = result ? "atom" : "red";
        one(fmt::format("{}.global.{}.{}", opcode, operation, type), type, "global", false, result);
        one(fmt::format("{}.shared.{}.{}", opcode, operation, type), type, "shared", false, result);
        one(fmt::format("{}.{}.{}", opcode, operation, type), type, "global", true, result);
        one(fmt::format("{}.{}.{}", opcode, operation, type), type, "shared", true, result);
      }
  for (const char* ordering : {"relaxed", "acquire", "release", "acq_rel"})
    for (const char* scope : {"cta", "cluster", "gpu", "sys"})
      for (const char* space : {"global", "shared"}) {
        one(fmt::format("atom.{}.{}.{}.add.u32", ordering, scope, space), "u32", space, false,
            true);
        one(fmt::format("atom.{}.{}.{}.cas.b64", ordering, scope, space), "b64", space, false,
            true);
        if (ordering[2] != 'q')  // red has no acquire
          one(fmt::format("red.{}.{}.{}.max.s32", ordering, scope, space), "s32", space, false,
              false);
      }
  // All threads on four words; the outcome does not depend on their order.
  for (const char* form : {"add.u32", "add.u64", "min.s32", "max.u64", "and.b32", "or.b64",
                           "xor.b32", "inc.u32", "dec.u32"})
    for (const char* opcode : {"atom", "red"})
      for (const char* space : {"shared", "global"}) {
        const std::string spelling = fmt::format("{}.{}.{}", opcode, space, form);
        const std::string op(form, std::strchr(form, '.')), type = std::strchr(form, '.') + 1;
        const std::string four =
            fmt::format(".{} .align 8 .b64 {}four[4];\n", space, space[0] == 'g' ? "@K_" : "");
        std::string body = space[0] == 's' ? four : "";
        body += fmt::format(
            ".reg .b64 %p;\n.reg .b{0} %d;\nand.b32 %m, %t, 3;\nmul.wide.u32 %k, %m, 8;\n"
            "mov.u64 %p, {1}four;\nadd.u64 %p, %p, %k;\nst.{2}.b64 [%p], 77;\nbar.sync 0;\n",
            bits_of(type), space[0] == 'g' ? "@K_" : "", space);
        if (op == "inc" || op == "dec") body += "mov.b32 %a0, 100;\n";  // one bound for all
        body += fmt::format("{} {}[%p], %a0;\n", spelling, opcode[0] == 'a' ? "%d, " : "");
        body += fmt::format("bar.sync 0;\nld.{}.b64 %r, [%p];\n", space);
        cases.add(spelling + " by all", {type}, body, space[0] == 'g' ? four : "");
      }
}

void warp_cases(Cases& cases) {
  const std::string with_predicate =
      "selp.u64 %r, 0x100000000, 0, %q;\ncvt.u64.u32 %k, %d;\nadd.u64 %r, %r, %k;\n";
  const std::string registers = ".reg .b32 %d;\nmov.b32 %d, 0;\nsetp.ne.u32 %q, 0, 0;\n";
  const std::string plain = "cvt.u64.u32 %r, %d;\n";
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    const std::string shfl = fmt::format("shfl.sync.{}.b32", mode);
    cases.add(shfl + " any", {"b32", "u32", "u32"},
              registers + shfl + " %d|%q, %a0, %a1, %a2, 0xffffffff;\n" + with_predicate);
    for (const char* bounds :
         {"1, 0x1f", "1, 0", "3, 0x1f", "16, 0x1f", "5, 0x181f", "2, 0x1c03", "40, 0x1f"}) {
      cases.add(fmt::format("{} {}", shfl, bounds), {"b32"},
                registers + fmt::format("{} %d|%q, %a0, {}, 0xffffffff;\n", shfl, bounds) +
                    with_predicate);
    }
    cases.add(shfl + " odd lanes", {"b32"},
              registers +
                  fmt::format("@%odd {} %d|%q, %a0, {}, 0x1f, 0xaaaaaaaa;\n", shfl,
                              mode[0] == 'i' ? 5 : 2) +
                  with_predicate);
  }
  // Warps whose lanes all hold, none, and some.
  const std::string vary =
      "shr.u32 %m, %t, 5;\nand.b32 %m, %m, 3;\nsetp.eq.u32 %pp, %m, 0;\n@%pp mov.b32 %a0, 1;\n"
      "setp.eq.u32 %pp, %m, 1;\n@%pp mov.b32 %a0, 0;\nand.b32 %a0, %a0, 1;\nsetp.ne.u32 %pp, %a0, "
      "0;\n";
  const std::string from_predicate = "selp.u64 %r, 1, 0, %q;\n";
  for (const char* negated : {"", "!"})
    for (const char* guard : {"", "@%odd "}) {
      const char* mask = *guard ? "0xaaaaaaaa" : "0xffffffff";
      const std::string note = std::string(*negated ? " not" : "") + (*guard ? " odd lanes" : "");
      for (const char* mode : {"all", "any", "uni"}) {
        const std::string vote = fmt::format("vote.sync.{}.pred", mode);
        cases.add(vote + note, {"b32"},
                  registers + vary +
                      fmt::format("{}{} %q, {}%pp, {};\n", guard, vote, negated, mask) +
                      from_predicate);
      }
      for (const char* vote : {"vote.sync.ballot.b32", "vote.ballot.sync.b32"})
        cases.add(vote + note, {"b32"},
                  registers + vary +
                      fmt::format("{}{} %d, {}%pp, {};\n", guard, vote, negated, mask) + plain);
    }
  const std::string few = "shr.u32 %m, %t, 5;\nand.b32 %m, %m, 3;\n";  // how many values a warp has
  for (const char* guard : {"", "@%odd "}) {
    const char* mask = *guard ? "0xaaaaaaaa" : "0xffffffff";
    const std::string note = *guard ? " odd lanes" : "";
    for (const char* bits : {"32", "64"}) {
      const std::string narrow =
          few + fmt::format("cvt.u{0}.u32 %x, %m;\nand.b{0} %a0, %a0, %x;\n", bits);
      const std::string start = registers + fmt::format(".reg .b{} %x;\n", bits) + narrow;
      cases.add(
          fmt::format("match.any.sync.b{}{}", bits, note), {fmt::format("b{}", bits)},
          start + fmt::format("{}match.any.sync.b{} %d, %a0, {};\n", guard, bits, mask) + plain);
      cases.add(fmt::format("match.all.sync.b{}{}", bits, note), {fmt::format("b{}", bits)},
                start + fmt::format("{}match.all.sync.b{} %d|%q, %a0, {};\n", guard, bits, mask) +
                    with_predicate);
    }
    for (const char* form : {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                             "and.b32", "or.b32", "xor.b32"})
      cases.add(
          fmt::format("redux.sync.{}{}", form, note), {"b32"},
          registers + fmt::format("{}redux.sync.{} %d, %a0, {};\n", guard, form, mask) + plain);
    cases.add("elect.sync" + note, {"b32"},
              registers + fmt::format("{}elect.sync %d|%q, {};\n", guard, mask) + with_predicate);
  }
  cases.add("activemask.b32", {"b32"}, registers + "activemask.b32 %d;\n" + plain);
  cases.add("bar.warp.sync", {"b64"},
            slot_in("shared").inside + "st.shared.b64 [%p], %a0;\nbar.warp.sync 0xffffffff;\n" +
                partner(1) + "ld.shared.b64 %r, [%p];\n");
}

void barrier_cases(Cases& cases) {
  const std::string registers = ".reg .b32 %d, %id;\nmov.b32 %d, 0;\nsetp.ne.u32 %q, 0, 0;\n";
  // Half of the CTA has the odd bits of the input, the other half says nearly always yes.
  const std::string vote =
      "shr.u32 %id, %t, 8;\nsetp.ne.u32 %pp, %id, 0;\nand.b32 %a0, %a0, 1;\n@%pp mov.b32 %a0, 1;\n"
      "setp.ne.u32 %pp, %a0, 0;\nadd.u32 %id, %id, 1;\n";
  for (const char* opcode : {"bar", "bar.cta", "barrier", "barrier.cta"})
    for (const char* count : {"", ", 256"})
      for (const char* negated : {"", "!"}) {
        const std::string aligned = opcode[3] == 'r' ? ".aligned" : "";
        const std::string id = *count ? "%id" : "3",
                          note = std::string(*count ? " counted" : "") + (*negated ? " not" : "");
        for (const char* op : {"and", "or"}) {
          const std::string spelling = fmt::format("{}.red.{}{}.pred", opcode, op, aligned);
          cases.add(spelling + note, {"b32"},
                    registers + vote +
                        fmt::format("{} %q, {}{}, {}%pp;\nselp.u64 %r, 1, 0, %q;\n", spelling, id,
                                    count, negated));
        }
        const std::string spelling = fmt::format("{}.red.popc{}.u32", opcode, aligned);
        cases.add(spelling + note, {"b32"},
                  registers + vote +
                      fmt::format("{} %d, {}{}, {}%pp;\ncvt.u64.u32 %r, %d;\n", spelling, id, count,
                                  negated));
      }
  // The neighbour's word after a barrier.
  const std::string exchange = partner(128) + "ld.shared.b64 %r, [%p];\n";
  for (const char* form : {"bar.sync 0", "bar.sync 5, 512", "bar.cta.sync 2", "barrier.sync 0",
                           "barrier.sync.aligned 7, 512", "barrier.cta.sync 1"})
    cases.add(
        form, {"b64"},
        slot_in("shared").inside + fmt::format("st.shared.b64 [%p], %a0;\n{};\n", form) + exchange);
  // The first half writes and goes on; the second waits and reads.
  for (const char* opcode : {"bar", "bar.cta", "barrier", "barrier.cta"})
    cases.add(fmt::format("{}.arrive", opcode), {"b64"},
              slot_in("shared").inside +
                  "setp.lt.u32 %pp, %t, 256;\nmov.b64 %r, 1;\n@%pp st.shared.b64 [%p], %a0;\n" +
                  fmt::format("@%pp {0}.arrive 4, 512;\n@!%pp {0}.sync 4, 512;\n", opcode) +
                  partner(256) + "@!%pp ld.shared.b64 %r, [%p];\n");
  for (const char* form : {"membar.cta",
                           "membar.gl",
                           "membar.sys",
                           "fence.acq_rel.cta",
                           "fence.acq_rel.cluster",
                           "fence.acq_rel.gpu",
                           "fence.acq_rel.sys",
                           "fence.sc.cta",
                           "fence.sc.cluster",
                           "fence.sc.gpu",
                           "fence.sc.sys",
                           "fence.proxy.alias",
                           "fence.proxy.async",
                           "nanosleep.u32 20",
                           "prefetch.global.L1 [%p]",
                           "prefetch.global.L2 [%p]",
                           "prefetch.L1 [%p]",
                           "prefetch.global.L2::evict_last [%p]",
                           "prefetchu.L1 [%p]",
                           "cp.async.bulk.prefetch.L2.global [%p], 16",
                           "griddepcontrol.launch_dependents",
                           "griddepcontrol.wait"})
    cases.add(form, {"b64"},
              slot_in("global").inside +
                  fmt::format("st.global.b64 [%p], %a0;\n{};\nld.global.b64 %r, [%p];\n", form),
              slot_in("global").outside);
  // One mbarrier a thread, its count decided by the input.
  const std::string make =
      slot_in("shared").inside +
      ".reg .b64 %state, %old;\n.reg .b32 %n, %d;\nand.b32 %n, %a0, 7;\nadd.u32 %n, %n, 1;\n";
  const std::string done = "selp.u64 %r, 1, 0, %q;\n";
  const std::string init = "mbarrier.init.shared.b64 [%p], %n;\n";
  cases.add("mbarrier.init.shared.b64", {"b32"},
            make + init +
                "mbarrier.arrive.shared.b64 %state, [%p];\nmbarrier.test_wait.shared.b64 %q, [%p], "
                "%state;\n" +
                done);
  cases.add("mbarrier.init.b64", {"b32"},
            make +
                "cvta.shared.u64 %p, %p;\nmbarrier.init.b64 [%p], %n;\nmbarrier.arrive.b64 %state, "
                "[%p];\nmbarrier.test_wait.b64 %q, [%p], %state;\n" +
                done);
  cases.add("mbarrier.pending_count.b64", {"b32"},
            make + init +
                "mbarrier.arrive.shared.b64 %state, [%p];\nmbarrier.pending_count.b64 %d, "
                "%state;\ncvt.u64.u32 %r, %d;\n");
  cases.add("mbarrier.arrive.shared.b64 counted", {"b32"},
            make + init +
                "mbarrier.arrive.shared.b64 %state, [%p], %n;\nmbarrier.test_wait.shared.b64 %q, "
                "[%p], %state;\n" +
                done);
  cases.add("mbarrier.arrive.release.cta.shared::cta.b64", {"b32"},
            make + init +
                "mbarrier.arrive.release.cta.shared::cta.b64 %state, "
                "[%p];\nmbarrier.try_wait.parity.shared.b64 %q, [%p], 1;\n" +
                done);
  cases.add("mbarrier.arrive.noComplete.shared.b64", {"b32"},
            make + "add.u32 %n, %n, 3;\n" + init +
                "mbarrier.arrive.noComplete.shared.b64 %state, [%p], "
                "2;\nmbarrier.pending_count.b64 %d, %state;\ncvt.u64.u32 %r, %d;\n");
  cases.add("mbarrier.arrive_drop.shared.b64", {"b32"},
            make + init +
                "mbarrier.arrive_drop.shared.b64 %state, [%p];\nsub.u32 %n, %n, 1;\nsetp.eq.u32 "
                "%pp, %n, 0;\n@%pp mov.u32 %n, 1;\n"
                "@!%pp mbarrier.arrive.shared.b64 %old, [%p], %n;\nmbarrier.test_wait.shared.b64 "
                "%q, [%p], %state;\n" +
                done);
  cases.add("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", {"b32"},
            make + init +
                "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%p], "
                "64;\nmbarrier.arrive.shared.b64 %state, [%p], %n;\n"
                "mbarrier.test_wait.shared.b64 %pp, [%p], "
                "%state;\nmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%p], 64;\n"
                "mbarrier.test_wait.shared.b64 %q, [%p], %state;\nselp.u64 %r, 1, 0, %q;\nselp.u64 "
                "%k, 2, 0, %pp;\nadd.u64 %r, %r, %k;\n");
  cases.add("mbarrier.complete_tx.relaxed.cta.shared::cta.b64", {"b32"},
            make + init +
                "mbarrier.arrive.expect_tx.shared.b64 %state, [%p], "
                "32;\nmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%p], 32;\n"
                "mbarrier.test_wait.shared.b64 %q, [%p], %state;\n" +
                done);
  cases.add("mbarrier.test_wait.parity.shared.b64", {"b32"},
            make + init +
                "mbarrier.arrive.shared.b64 %state, [%p], "
                "%n;\nmbarrier.test_wait.parity.shared.b64 %q, [%p], 0;\n"
                "mbarrier.test_wait.parity.shared.b64 %pp, [%p], 1;\nselp.u64 %r, 1, 0, "
                "%q;\nselp.u64 %k, 2, 0, %pp;\nadd.u64 %r, %r, %k;\n");
  cases.add("mbarrier.try_wait.shared.b64", {"b32"},
            make + init +
                "mbarrier.arrive.shared.b64 %state, [%p], %n;\nmbarrier.try_wait.shared.b64 %q, "
                "[%p], %state;\n" +
                done);
  cases.add("mbarrier.inval.shared.b64", {"b32"},
            make + init + "mbarrier.inval.shared.b64 [%p];\n" + init +
                "mbarrier.arrive.shared.b64 %state, [%p], %n;\nmbarrier.test_wait.shared.b64 %q, "
                "[%p], %state;\n" +
                done);
}

// From a slot of global memory into one of shared memory, which holds something else before.
void async_copy_cases(Cases& cases) {
  const std::string begin =
      ".reg .b64 %from, %to, %low, %high, %state;\n.reg .b32 %n;\n.shared .align 16 .b8 "
      "slots[8192];\n"
      ".shared .align 8 .b8 barriers[4096];\n"
      "mul.wide.u32 %k, %t, 16;\nmov.u64 %from, @K_slots;\nadd.u64 %from, %from, %k;\n"
      "mov.u64 %to, slots;\nadd.u64 %to, %to, %k;\n"
      "st.global.v2.b64 [%from], {%w0, %w1};\nnot.b64 %low, %w0;\nnot.b64 %high, %w1;\n"
      "st.shared.v2.b64 [%to], {%low, %high};\n";
  const std::string outside = ".global .align 16 .b8 @K_slots[8192];\n";
  const std::string end =
      "ld.shared.v2.b64 {%low, %high}, [%to];\nmul.lo.u64 %high, %high, 3;\nxor.b64 %r, %low, "
      "%high;\n";
  const std::string wait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";
  const auto add = [&](const std::string& name, const std::string& copy, const std::string& after) {
    cases.add(name, {"b64", "b64", "b32"}, begin + copy + after + end, outside);
  };
  for (const char* form : {"ca 4", "ca 8", "ca 16", "cg 16"}) {
    const std::string_view text = form;
    const std::string spelling = fmt::format("cp.async.{}.shared.global", text.substr(0, 2));
    const std::string bytes(text.substr(3));
    const std::string copy = fmt::format("{} [%to], [%from], {}", spelling, bytes);
    add(fmt::format("{} {}", spelling, bytes), copy + ";\n", wait);
    // No source bytes, some of them, all of them.
    add(fmt::format("{} {} of", spelling, bytes),
        fmt::format("and.b32 %n, %a2, 31;\nmin.u32 %n, %n, {};\n{}, %n;\n", bytes, copy), wait);
    add(fmt::format("{} {} ignored", spelling, bytes), copy + ", %odd;\n", wait);
  }
  add("cp.async.cg.shared::cta.global.L2::128B",
      "cp.async.cg.shared::cta.global.L2::128B [%to], [%from], 16;\n", "cp.async.wait_all;\n");
  add("cp.async.commit_group", "cp.async.ca.shared.global [%to], [%from], 8;\n", wait);
  add("cp.async.wait_group",
      "@%odd cp.async.ca.shared.global [%to], [%from], 8;\ncp.async.commit_group;\n",
      "cp.async.commit_group;\ncp.async.wait_group 1;\n");
  add("cp.async.wait_all", "cp.async.ca.shared.global [%to], [%from], 16;\n",
      "cp.async.wait_all;\n");
  // One mbarrier a thread: its phase is over when the copy is.
  for (const bool noinc : {true, false}) {
    const std::string arrive =
        fmt::format("cp.async.mbarrier.arrive{}.shared.b64", noinc ? ".noinc" : "");
    add(arrive,
        "mul.wide.u32 %k, %t, 8;\nmov.u64 %state, barriers;\nadd.u64 %state, %state, %k;\n"
        "mbarrier.init.shared.b64 [%state], 1;\ncp.async.ca.shared.global [%to], [%from], 16;\n" +
            arrive + " [%state];\n" + (noinc ? "" : "mbarrier.arrive.shared.b64 _, [%state];\n"),
        "AGAIN: mbarrier.test_wait.parity.shared.b64 %q, [%state], 0;\n@!%q bra AGAIN;\n");
  }
}

void address_and_control_cases(Cases& cases) {
  for (const char* space : {"global", "shared", "local", "const"}) {
    const bool constant = space[0] == 'c';
    const Slot slot = constant ? Slot{".reg .b64 %p;\nmov.u64 %p, @K_slots;\n",
                                      ".const .align 16 .b64 @K_slots[2] = {5, 6};\n"}
                               : slot_in(space);
    const std::string fill = constant ? "" : fmt::format("st.{}.b64 [%p], %a0;\n", space);
    const std::string generic =
        fmt::format(".reg .b64 %generic, %back;\ncvta.{}.u64 %generic, %p;\n", space);
    cases.add(fmt::format("cvta.{}.u64", space), {"b64"},
              slot.inside + fill + generic + "ld.b64 %r, [%generic];\n", slot.outside);
    cases.add(fmt::format("cvta.to.{}.u64", space), {"b64"},
              slot.inside + fill + generic +
                  fmt::format("cvta.to.{0}.u64 %back, %generic;\nld.{0}.b64 %r, "
                              "[%back];\nsetp.eq.u64 %q, %back, %p;\nselp.u64 %k, 1, 0, %q;\n",
                              space) +
                  join("%k"),
              slot.outside);
    for (const char* test : {"global", "shared", "local", "const"})
      cases.add(fmt::format("isspacep.{} {}", test, space), {"b64"},
                slot.inside + generic +
                    fmt::format("isspacep.{} %q, %generic;\nselp.u64 %r, 1, 0, %q;\n", test),
                slot.outside);
  }
  const std::string by_four = ".reg .b32 %d;\nand.b32 %m, %a0, 3;\nmov.b32 %d, 9;\n";
  const std::string targets =
      "ONE: mov.b32 %d, 100;\nbra DONE;\nTWO: add.u32 %d, %a0, 200;\nbra DONE;\nTHREE: mul.lo.u32 "
      "%d, %a0, 3;\nDONE:\ncvt.u64.u32 %r, %d;\n";
  cases.add("brx.idx", {"b32"},
            by_four + "LIST: .branchtargets ONE, TWO, THREE, DONE;\nbrx.idx %m, LIST;\n" + targets);
  cases.add("bra", {"b32"},
            by_four +
                "setp.eq.u32 %q, %m, 1;\n@%q bra ONE;\nsetp.eq.u32 %q, %m, 2;\n@%q bra "
                "TWO;\nsetp.eq.u32 %q, %m, 3;\n@!%q bra DONE;\nbra.uni THREE;\n" +
                targets);
  cases.add("exit", {"b64"},
            "mov.b64 %r, %a0;\nst.global.u64 [%out], %r;\n@%odd exit;\nadd.u64 %r, %r, 1;\n");
  cases.add("ret", {"b64"},
            "mov.b64 %r, %a0;\nst.global.u64 [%out], %r;\n@%odd ret;\nadd.u64 %r, %r, 1;\n");
  const std::string function =
      ".func (.param .b64 back) @K_twice(.param .b64 x, .param .b32 times)\n{\n.reg .b64 %x;\n.reg "
      ".b32 %n;\n.reg .pred %go;\n"
      "ld.param.b64 %x, [x];\nld.param.b32 %n, [times];\nAGAIN:\nsetp.eq.u32 %go, %n, 0;\n@%go bra "
      "OUT;\nadd.u64 %x, %x, %x;\nsub.u32 %n, %n, 1;\nbra AGAIN;\nOUT:\nst.param.b64 [back], "
      "%x;\nret;\n}\n";
  const std::string arguments =
      "and.b32 %m, %a0, 15;\ncvt.u64.u32 %k, %a0;\n{\n.param .b64 x;\n.param .b32 times;\n.param "
      ".b64 back;\nst.param.b64 [x], %k;\nst.param.b32 [times], %m;\n";
  cases.add("call", {"b32"},
            arguments + "call (back), @K_twice, (x, times);\nld.param.b64 %r, [back];\n}\n",
            function);
  cases.add("call.uni", {"b32"},
            arguments + "call.uni (back), @K_twice, (x, times);\nld.param.b64 %r, [back];\n}\n",
            function);
  cases.add("call indirect", {"b32"},
            ".reg .b64 %f;\nmov.u64 %f, @K_twice;\n" + arguments +
                "PROTO: .callprototype (.param .b64 _) _ (.param .b64 _, .param .b32 _);\ncall "
                "(back), %f, (x, times), PROTO;\nld.param.b64 %r, [back];\n}\n",
            function);
}

// Registers of 128 bits, vectors, cache policies.
void wide_cases(Cases& cases) {
  const Words two = {"u64", "u64"};
  const std::string wide = ".reg .b128 %wide, %other;\nmov.b128 %wide, {%w0, %w1};\n";
  const std::string split =
      ".reg .b64 %low, %high;\nmov.b128 {%low, %high}, %other;\nmov.b64 %r, %low;\n" +
      join("%high");
  cases.add("mov.b128", two, wide + "mov.b128 %other, %wide;\n" + split);
  cases.add("mov.b128 odd lanes", two,
            wide + "mov.b128 %other, {%w1, 77};\n@%odd mov.b128 %other, %wide;\n" + split);
  cases.add("mov.b128 of four", two,
            ".reg .b128 %other;\n.reg .b32 %a, %b;\ncvt.u32.u64 %a, %w0;\ncvt.u32.u64 %b, "
            "%w1;\nmov.b128 %other, {%a, %b, 5, %a};\n" +
                split);
  cases.add("mov.b128 to four", two,
            wide +
                ".reg .b32 %a, %b, %c;\nmov.b128 {%a, _, %b, %c}, %wide;\nmov.b64 %r, {%a, "
                "%b};\ncvt.u64.u32 %k, %c;\n" +
                join("%k"));
  for (const char* space : {"global", "shared", "local"})
    for (const bool generic : {false, true}) {
      const Slot slot = slot_in(space, generic);
      const std::string dot = generic ? "" : std::string(".") + space,
                        note = generic ? std::string(" ") + space : "";
      cases.add(
          fmt::format("st{}.b128{}", dot, note), two,
          slot.inside + wide + fmt::format("st{}.b128 [%p], %wide;\n", dot) + joined_words(dot),
          slot.outside);
      cases.add(fmt::format("ld{}.b128{}", dot, note), two,
                slot.inside +
                    fmt::format("st{0}.v2.b64 [%p], {{%w1, %w0}};\n.reg .b128 "
                                "%other;\nld{0}.b128 %other, [%p];\n",
                                dot) +
                    split,
                slot.outside);
    }
  for (const char* space : {"global", "shared"})
    for (const bool generic : {false, true}) {
      const Slot slot = slot_in(space, generic);
      const std::string dot = generic ? "" : std::string(".") + space,
                        note = generic ? std::string(" ") + space : "";
      // Even lanes find what they expect, odd ones do not; a result is what was there.
      const std::string before =
          slot.inside + wide + fmt::format("st{}.v2.b64 [%p], {{%w0, 77}};\n", dot) +
          ".reg .b128 %old;\n.reg .b64 %high;\nselp.b64 %high, 78, 77, %odd;\n"
          "mov.b128 %other, {%w0, %high};\n";
      const std::string after =
          ".reg .b64 %a, %b;\nmov.b128 {%a, %b}, %old;\nadd.u64 %a, %a, %b;\n" + joined_words(dot) +
          join("%a");
      cases.add(fmt::format("atom{}.cas.b128{}", dot, note), two,
                before + fmt::format("atom{}.cas.b128 %old, [%p], %other, %wide;\n", dot) + after,
                slot.outside);
      cases.add(fmt::format("atom.relaxed.cta{}.exch.b128{}", dot, note), two,
                before +
                    fmt::format("mov.b128 %old, %other;\n@%odd atom.relaxed.cta{}.exch.b128 %old, "
                                "[%p], %wide;\n",
                                dot) +
                    after,
                slot.outside);
    }
  cases.add("mov.v2.b32", two,
            ".reg .b32 %a, %b;\ncvt.u32.u64 %a, %w0;\ncvt.u32.u64 %b, %w1;\nmov.v2.b32 {%a, %b}, "
            "{%b, %a};\nmov.b64 %r, {%a, %b};\n");
  cases.add("mov.v2.u64", two,
            ".reg .u64 %c, %d;\nmov.v2.u64 {%c, %d}, {%w1, 5};\nmov.b64 %r, %c;\n" + join("%d"));
  cases.add("mov.v4.u32", two,
            ".reg .u32 %a, %b, %c, %d;\nmov.v4.u32 {%a, %b, %c, %d}, {1, 2, 3, 0xffffffff};\n"
            "cvt.u32.u64 %a, %w0;\n@%odd mov.v4.u32 {%b, %c, %d, %a}, {%a, %b, %c, %d};\n"
            "mov.b64 %r, {%a, %b};\nmov.b64 %k, {%c, %d};\n" +
                join("%k"));
  for (const char* type : {"u8", "s16", "b32", "u64", "v2.u32", "v4.f32"}) {
    const int vector = type[0] == 'v' ? type[1] - '0' : 1;
    const std::string ldu = fmt::format("ldu.global.{}", type);
    cases.add(ldu, two, load(ldu, vector > 1 ? type + 3 : type, vector, "%in"));
  }
  cases.add("ldu.u32", {"u64"}, load("ldu.u32", "u32", 1, "%in"));
  // A policy itself is opaque: what is loaded and stored with it is not.
  const Slot slot = slot_in("global");
  const auto with_policy = [&](const std::string& policy) {
    cases.add(policy, two,
              slot.inside +
                  fmt::format(".reg .b64 %policy;\n{}st.global.L2::cache_hint.v2.b64 [%p], {{%w0, "
                              "%w1}}, %policy;\nld.global.L1::no_allocate.L2::cache_hint.b64 %r, "
                              "[%p+8], %policy;\n",
                              policy + ";\n"),
              slot.outside);
  };
  with_policy("createpolicy.fractional.L2::evict_last.b64 %policy, 1.0");
  with_policy("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %policy, 0.25");
  with_policy("createpolicy.fractional.L2::evict_normal.b64 %policy");
  with_policy("createpolicy.range.global.L2::evict_last.b64 %policy, [%p], 0x1000, 0x2000");
  with_policy(
      "createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\ncreatepolicy.cvt.L2.b64 "
      "%policy, %policy");
  const std::string hint =
      ".reg .b64 %policy;\ncreatepolicy.fractional.L2::evict_last.b64 %policy, "
      "1.0;\nst.global.v2.b64 [%p], {%w0, %w1};\n.reg .b32 %d;\n";
  cases.add("atom.global.add.L2::cache_hint.u32", two,
            slot.inside + hint +
                "cvt.u32.u64 %d, %w1;\natom.global.add.L2::cache_hint.u32 %d, [%p], %d, "
                "%policy;\ncvt.u64.u32 %r, %d;\nld.global.b64 %k, [%p];\n" +
                join("%k"),
            slot.outside);
  cases.add("red.global.max.L2::cache_hint.u32", two,
            slot.inside + hint +
                "cvt.u32.u64 %d, %w1;\nred.global.max.L2::cache_hint.u32 [%p], %d, "
                "%policy;\nld.global.b64 %r, [%p];\n",
            slot.outside);
  for (const char* form : {"discard.global.L2", "applypriority.global.L2::evict_normal"})
    cases.add(form, two,
              "mov.b64 %r, %w0;\n.reg .b64 %p;\nmov.u64 %p, @K_line;\n" +
                  fmt::format("{} [%p], 128;\n", form) + join("%w1"),
              ".global .align 128 .b8 @K_line[128];\n");
  for (const char* form :
       {"createpolicy.cvt.L2.b64 %k, %k", "createpolicy.range.L2::evict_first.b64 %k, [%in], 1, 1"})
    cases.add(form, two,
              std::string("createpolicy.fractional.L2::evict_normal.b64 %k;\n") + form +
                  ";\nmov.b64 %r, %w0;\n" + join("%w1"));
}

// Vectors of atomics: each element for itself.
void vector_atomic_cases(Cases& cases) {
  const Slot slot = slot_in("global");
  struct Form {
    const char *operation, *type;
    int vector;
  };
  const Form forms[] = {
      {"add", "f32", 2},          {"add", "f32", 4},         {"add.noftz", "f16", 2},
      {"add.noftz", "f16", 8},    {"add.noftz", "bf16", 4},  {"add.noftz", "f16x2", 2},
      {"add.noftz", "bf16x2", 4}, {"min.noftz", "f16", 4},   {"max.noftz", "f16", 8},
      {"min.noftz", "bf16", 2},   {"max.noftz", "f16x2", 4}, {"min.noftz", "bf16x2", 2}};
  for (const Form& form : forms)
    for (const bool result : {true, false})
      for (const bool generic : {false, true}) {
        const uint32_t bits = bits_of(form.type);
        std::string values, text = slot.inside;
        if (generic) text += "cvta.global.u64 %p, %p;\n";
        const std::string dot = generic ? "" : ".global";
        text += fmt::format("st{}.v2.b64 [%p], {{%w0, %w1}};\n", dot);
        for (int i = 0; i < form.vector; i++) {
          text += fmt::format(
              ".reg .b{0} %v{1};\nshr.u64 %k, %w{2}, {3};\ncvt.u{0}.u64 %v{1}, "
              "%k;\n",
              bits, i, (i + 1) & 1, (uint32_t(i) * bits) % 64 / 2);
          values += fmt::format("{}%v{}", i ? ", " : "", i);
        }
        const std::string spelling = fmt::format("{}{}.{}.v{}.{}", result ? "atom" : "red", dot,
                                                 form.operation, form.vector, form.type);
        text += result ? fmt::format("{} {{{}}}, [%p], {{{}}};\n", spelling, values, values)
                       : fmt::format("{} [%p], {{{}}};\n", spelling, values);
        text += joined_words(dot);
        for (int i = 0; result && i < form.vector; i++)
          text += fmt::format("cvt.u64.u{} %k, %v{};\n", bits, i) + join("%k");
        cases.add(spelling + (generic ? " global" : ""), {"u64", "u64"}, text, slot.outside);
      }
}

// lop3 with a predicate beside its result.
void logic_cases(Cases& cases) {
  for (const char* op : {"and", "or"})
    for (const uint32_t table : {0x96u, 0xe8u, 0x80u, 0x01u})
      for (const bool sink : {false, true})
        cases.add(fmt::format("lop3.{}.b32 0x{:x}{}", op, table, sink ? " sink" : ""),
                  {"b32", "b32", "b32"},
                  fmt::format(".reg .b32 %d;\nmov.b32 %d, 0;\nand.b32 %a0, %a0, 0xff;\nand.b32 "
                              "%a1, %a1, 0xff;\nand.b32 %a2, %a2, 0xff;\n"
                              "lop3.{}.b32 {}|%q, %a0, %a1, %a2, 0x{:x}, {}%odd;\nselp.u64 %r, "
                              "0x100000000, 0, %q;\ncvt.u64.u32 %k, %d;\nadd.u64 %r, %r, %k;\n",
                              op, sink ? "_" : "%d", table, table == 0x96 ? "!" : ""));
}

}  // namespace

std::vector<Case> machine_cases() {
  Cases cases;
  memory_cases(cases);
  atomic_cases(cases);
  warp_cases(cases);
  barrier_cases(cases);
  async_copy_cases(cases);
  address_and_control_cases(cases);
  wide_cases(cases);
  vector_atomic_cases(cases);
  logic_cases(cases);
  video_cases(cases);
  matrix_cases(cases);
  return cases.take();
}

}  // namespace tw::isa_test
