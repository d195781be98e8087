// PTX programs for the matrix instructions. Factors hold small integers, so that every sum is exact
// in every format and the order of additions, which the manual leaves open, does not show.
#include <fmt/format.h>

#include <algorithm>

#include "case_list.h"

namespace tw::isa_test {
namespace {

const Words kTwo = {"u64", "u64"};

// Makes registers from the thread's words.
class Text {
 public:
  const std::string& text() const { return text_; }
  void add(const std::string& more) { text_ += more; }

  // `bits` of another mixture of the words each time, in a new .b32 register.
  std::string word() {
    const std::string name = fmt::format("%u{}", words_++);
    text_ += fmt::format(
        ".reg .b32 {0};\nmad.lo.u64 %k, %w0, {1}, %w1;\nshr.u64 %k, %k, 29;\ncvt.u32.u64 {0}, "
        "%k;\n",
        name, 0x9e3779b97f4a7c15ull + 2 * words_ * 0x632be59bd9b4e019ull);
    return name;
  }
  // -4 to 3 in a new .s32 register.
  std::string small(const std::string& from, int at) {
    const std::string name = fmt::format("%i{}", smalls_++);
    text_ += fmt::format(".reg .s32 {0};\nbfe.s32 {0}, {1}, {2}, 3;\n", name, from, at);
    return name;
  }
  // A register of small numbers in the format: two of f16 or bf16, four of e4m3 or e5m2, one of
  // tf32, f32 or f64; random bits for integers.
  std::string number(std::string_view format) {
    const std::string from = word(), name = fmt::format("%n{}", numbers_++);
    if (format == "bits") return from;
    text_ += fmt::format(".reg .{} {};\n", format == "f64" ? "f64" : "b32", name);
    if (format == "f16" || format == "bf16") {
      text_ += fmt::format(".reg .b16 {0}l, {0}h;\n", name);
      for (const auto& [half, at] : {std::pair{"l", 3}, std::pair{"h", 11}}) {
        const std::string value = small(from, at);
        text_ += fmt::format("cvt.rn.{}.s32 {}{}, {};\n", format, name, half, value);
      }
      text_ += fmt::format("mov.b32 {0}, {{{0}l, {0}h}};\n", name);
    } else if (format.starts_with("e")) {
      text_ += fmt::format(".reg .b16 {0}l, {0}h;\n.reg .f32 {0}x, {0}y;\n", name);
      for (const auto& [half, at] : {std::pair{"l", 3}, std::pair{"h", 15}}) {
        const std::string x = small(from, at), y = small(from, at + 5);
        text_ += fmt::format(
            "cvt.rn.f32.s32 {0}x, {1};\ncvt.rn.f32.s32 {0}y, {2};\ncvt.rn.satfinite.{3}x2.f32 "
            "{0}{4}, {0}x, {0}y;\n",
            name, x, y, format, half);
      }
      text_ += fmt::format("mov.b32 {0}, {{{0}l, {0}h}};\n", name);
    } else if (format == "f64") {
      text_ += fmt::format("cvt.rn.f64.s32 {}, {};\n", name, small(from, 7));
    } else {
      text_ += fmt::format(".reg .f32 {0}x;\ncvt.rn.f32.s32 {0}x, {1};\nmov.b32 {0}, {0}x;\n", name,
                           small(from, 7));
    }
    return name;
  }
  std::string list(std::string_view format, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + number(format);
    return "{" + text + "}";
  }
  std::string results(std::string_view name, std::string_view type, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text_ += fmt::format(".reg .{} %{}{};\n", type, name, i);
      text += fmt::format("{}%{}{}", i ? ", " : "", name, i);
    }
    return "{" + text + "}";
  }
  // Joins the registers into %r.
  void join(std::string_view name, bool wide, int count) {
    text_ += "mov.u64 %r, 0;\n";
    for (int i = 0; i < count; ++i) {
      text_ += wide ? fmt::format("mov.b64 %k, %{}{};\n", name, i)
                    : fmt::format("cvt.u64.u32 %k, %{}{};\n", name, i);
      text_ += "mad.lo.u64 %r, %r, 0x9e3779b97f4a7c15, %k;\n";
    }
  }

 private:
  std::string text_;
  int words_ = 0, smalls_ = 0, numbers_ = 0;
};

void mma_cases(Cases& cases) {
  struct Form {
    const char *shape, *d, *a, *b, *c;
    int a_registers, b_registers, c_registers, d_registers;
    const char* before = "";  // .satfinite
    const char* after = "";   // .and.popc
  };
  std::vector<Form> forms = {
      {"m16n8k8", "f16", "f16", "f16", "f16", 2, 1, 2, 2},
      {"m16n8k8", "f32", "f16", "f16", "f32", 2, 1, 4, 4},
      {"m16n8k16", "f16", "f16", "f16", "f16", 4, 2, 2, 2},
      {"m16n8k16", "f32", "f16", "f16", "f32", 4, 2, 4, 4},
      {"m16n8k8", "f32", "bf16", "bf16", "f32", 2, 1, 4, 4},
      {"m16n8k16", "f32", "bf16", "bf16", "f32", 4, 2, 4, 4},
      {"m16n8k4", "f32", "tf32", "tf32", "f32", 2, 1, 4, 4},
      {"m16n8k8", "f32", "tf32", "tf32", "f32", 4, 2, 4, 4},
      {"m8n8k4", "f64", "f64", "f64", "f64", 1, 1, 2, 2},
      {"m16n8k4", "f64", "f64", "f64", "f64", 2, 1, 4, 4},
      {"m16n8k8", "f64", "f64", "f64", "f64", 4, 2, 4, 4},
      {"m16n8k16", "f64", "f64", "f64", "f64", 8, 4, 4, 4},
  };
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"})
      forms.push_back({"m16n8k32", "f32", a, b, "f32", 4, 2, 4, 4});
  for (const char* saturate : {"", ".satfinite"}) {
    for (const char* a : {"u8", "s8"})
      for (const char* b : {"u8", "s8"}) {
        forms.push_back({"m8n8k16", "s32", a, b, "s32", 1, 1, 2, 2, saturate});
        forms.push_back({"m16n8k16", "s32", a, b, "s32", 2, 1, 4, 4, saturate});
        forms.push_back({"m16n8k32", "s32", a, b, "s32", 4, 2, 4, 4, saturate});
      }
    for (const char* a : {"u4", "s4"})
      for (const char* b : {"u4", "s4"}) {
        forms.push_back({"m8n8k32", "s32", a, b, "s32", 1, 1, 2, 2, saturate});
        forms.push_back({"m16n8k32", "s32", a, b, "s32", 2, 1, 4, 4, saturate});
        forms.push_back({"m16n8k64", "s32", a, b, "s32", 4, 2, 4, 4, saturate});
      }
  }
  for (const char* op : {".and.popc", ".xor.popc"}) {
    forms.push_back({"m8n8k128", "s32", "b1", "b1", "s32", 1, 1, 2, 2, "", op});
    forms.push_back({"m16n8k128", "s32", "b1", "b1", "s32", 2, 1, 4, 4, "", op});
    forms.push_back({"m16n8k256", "s32", "b1", "b1", "s32", 4, 2, 4, 4, "", op});
  }
  for (const Form& form : forms) {
    const auto format = [](std::string_view type) {
      const bool bits = type[0] == 'u' || type[0] == 's' || type == "b1";
      return bits ? std::string_view("bits") : type;
    };
    const bool wide = form.d == std::string_view("f64");
    Text t;
    const std::string a = t.list(format(form.a), form.a_registers),
                      b = t.list(format(form.b), form.b_registers),
                      c = t.list(format(form.c), form.c_registers),
                      d = t.results("d", wide ? "f64" : "b32", form.d_registers);
    const std::string spelling =
        fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}{}", form.shape, form.before, form.d,
                    form.a, form.b, form.c, form.after);
    t.add(fmt::format("{} {}, {}, {}, {};\n", spelling, d, a, b, c));
    t.join("d", wide, form.d_registers);
    cases.add(spelling, kTwo, t.text());
  }
}

// The thread's 16 bytes in shared memory; its address in %p.
const char* const kSlots =
    ".reg .b64 %p;\n.shared .align 16 .b8 slots[8192];\nmov.u64 %p, slots;\nmul.wide.u32 %k, %t, "
    "16;\nadd.u64 %p, %p, %k;\nst.shared.v2.b64 [%p], {%w0, %w1};\nbar.warp.sync 0xffffffff;\n";

void move_cases(Cases& cases) {
  for (const int count : {1, 2, 4})
    for (const char* trans : {"", ".trans"}) {
      Text t;
      t.add(kSlots);
      const std::string d = t.results("d", "b32", count),
                        ld = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count,
                                         trans);
      t.add(fmt::format("{} {}, [%p];\n", ld, d));
      t.join("d", false, count);
      cases.add(ld, kTwo, t.text());
      Text s;
      s.add(kSlots);
      std::string from;
      for (int i = 0; i < count; ++i) from += (i ? ", " : "") + s.word();
      const std::string st =
          fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count, trans);
      s.add(
          fmt::format("{} [%p], {{{}}};\nbar.warp.sync 0xffffffff;\n.reg .b64 %lo, "
                      "%hi;\nld.shared.v2.b64 {{%lo, "
                      "%hi}}, [%p];\nmad.lo.u64 %r, %lo, 0x9e3779b97f4a7c15, %hi;\n",
                      st, from));
      cases.add(st, kTwo, s.text());
    }
  Text t;
  t.add(kSlots);
  t.add(".reg .b32 %d0;\nldmatrix.sync.aligned.x1.m8n8.b16 {%d0}, [%generic];\n");
  std::string generic = t.text();
  generic.replace(generic.find("[%generic]"), 10, "[%p]");
  generic.insert(generic.find("ldmatrix"), "cvta.shared.u64 %p, %p;\n");
  cases.add("ldmatrix.sync.aligned.x1.m8n8.b16", kTwo, generic + "cvt.u64.u32 %r, %d0;\n");
  cases.add("movmatrix.sync.aligned.m8n8.trans.b16", kTwo,
            ".reg .b32 %d, %x;\ncvt.u32.u64 %x, %w0;\nmovmatrix.sync.aligned.m8n8.trans.b16 %d, "
            "%x;\ncvt.u64.u32 %r, %d;\n");
}

// A product by wmma: factors and C from shared memory, 512, 512 and 1024 bytes a warp, D over C. A
// case for each of its instructions.
void wmma_cases(Cases& cases) {
  struct Form {
    int m, n, k;
    const char *factor, *other, *sum;  // other: the format of B, for bytes
    int a_registers, b_registers, c_registers;
  };
  const Form forms[] = {
      {16, 16, 16, "f16", "f16", "f32", 8, 8, 8},   {16, 16, 16, "f16", "f16", "f16", 8, 8, 4},
      {32, 8, 16, "f16", "f16", "f32", 8, 8, 8},    {8, 32, 16, "f16", "f16", "f16", 8, 8, 4},
      {16, 16, 16, "bf16", "bf16", "f32", 4, 4, 8}, {32, 8, 16, "bf16", "bf16", "f32", 8, 2, 8},
      {8, 32, 16, "bf16", "bf16", "f32", 2, 8, 8},  {16, 16, 8, "tf32", "tf32", "f32", 4, 4, 8},
      {8, 8, 4, "f64", "f64", "f64", 1, 1, 2},      {16, 16, 16, "u8", "u8", "s32", 2, 2, 8},
      {32, 8, 16, "s8", "s8", "s32", 4, 1, 8},      {8, 32, 16, "u8", "u8", "s32", 1, 4, 8},
  };
  for (const Form& form : forms)
    for (const char* layout_a : {"row", "col"})
      for (const char* layout_b : {"row", "col"}) {
        const std::string_view factor = form.factor, sum = form.sum;
        const bool bytes = sum == "s32", wide = sum == "f64";
        const char* layout_d = layout_a == layout_b ? "row" : "col";
        const std::string shape = fmt::format("m{}n{}k{}", form.m, form.n, form.k);
        Text t;
        t.add(
            ".reg .b64 %pa, %pb, %pc, %at;\n.shared .align 128 .b8 all[32768];\nshr.u32 %m, %t, "
            "5;\nmul.wide.u32 %k, %m, 2048;\nmov.u64 %pa, all;\nadd.u64 %pa, %pa, %k;\nadd.u64 "
            "%pb, "
            "%pa, 512;\nadd.u64 %pc, %pa, 1024;\nand.b32 %m, %t, 31;\nmul.wide.u32 %at, %m, 16;\n");
        // 16 bytes of each factor, 32 of C, by each lane.
        const auto fill = [&](const char* base, std::string_view format, int count) {
          const bool doubles = format == "f64";
          for (int i = 0; i < count; i += doubles ? 2 : 1) {
            const std::string value =
                t.number(format[0] == 'u' || format[0] == 's' ? "bits" : format);
            t.add(fmt::format("add.u64 %k, {}, %at;\nst.shared.b{} [%k+{}], {};\n", base,
                              doubles ? 64 : 32, i % 4 * 4 + i / 4 * 512, value));
          }
        };
        fill("%pa", factor, 4);
        fill("%pb", form.other, 4);
        fill("%pc", sum, 8);
        t.add("bar.warp.sync 0xffffffff;\n");
        const char* reg = wide ? "f64" : "b32";
        const std::string a = t.results("fa", reg, form.a_registers),
                          b = t.results("fb", reg, form.b_registers),
                          c = t.results("fc", reg, form.c_registers),
                          d = t.results("fd", reg, form.c_registers);
        const auto line = [](std::string_view layout, int rows, int columns) {
          return layout == "row" ? columns : rows;
        };
        // A multiple of 16 bytes.
        const auto factor_line = [&](std::string_view layout, int rows, int columns) {
          return bytes ? std::max(16, line(layout, rows, columns)) : line(layout, rows, columns);
        };
        const std::string load_a = fmt::format("wmma.load.a.sync.aligned.{}.{}.shared.{}", layout_a,
                                               shape, factor),
                          load_b = fmt::format("wmma.load.b.sync.aligned.{}.{}.shared.{}", layout_b,
                                               shape, form.other),
                          load_c = fmt::format("wmma.load.c.sync.aligned.{}.{}.shared.{}", layout_d,
                                               shape, sum),
                          store = fmt::format("wmma.store.d.sync.aligned.{}.{}.shared.{}", layout_d,
                                              shape, sum);
        const std::string types = factor == "f16"
                                      ? fmt::format("{}.{}", sum, sum)
                                      : fmt::format("{}.{}.{}.{}", sum, factor, form.other, sum);
        const std::string product =
            fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{}{}", layout_a, layout_b, shape, types,
                        bytes && layout_d[0] == 'c' ? ".satfinite" : "");
        t.add(fmt::format("{} {}, [%pa], {};\n", load_a, a, factor_line(layout_a, form.m, form.k)));
        t.add(fmt::format("{} {}, [%pb], {};\n", load_b, b, factor_line(layout_b, form.k, form.n)));
        t.add(fmt::format("{} {}, [%pc], {};\n", load_c, c, line(layout_d, form.m, form.n)));
        t.add(fmt::format("{} {}, {}, {}, {};\nbar.warp.sync 0xffffffff;\n", product, d, a, b, c));
        t.add(fmt::format("{} [%pc], {}, {};\nbar.warp.sync 0xffffffff;\n", store, d,
                          line(layout_d, form.m, form.n)));
        t.add(
            ".reg .b64 %e0, %e1, %e2, %e3;\nadd.u64 %k, %pc, %at;\nld.shared.v2.b64 {%e0, %e1}, "
            "[%k];\nld.shared.v2.b64 {%e2, %e3}, [%k+512];\n");
        t.join("e", true, 4);
        cases.add(product, kTwo, t.text());
        if (layout_a == layout_b) continue;
        for (const std::string& each : {load_a, load_b, load_c, store})
          cases.add(fmt::format("{} of {}", each, product), kTwo, t.text());
      }
}

}  // namespace

void matrix_cases(Cases& cases) {
  mma_cases(cases);
  move_cases(cases);
  wmma_cases(cases);
}

}  // namespace tw::isa_test
