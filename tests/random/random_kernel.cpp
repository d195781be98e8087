#include "random_kernel.h"

#include <random>

namespace tw::random {
namespace {

constexpr int kInts = 8, kFloats = 4, kLongs = 2;

class Generator {
 public:
  explicit Generator(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  RandomKernel make() {
    RandomKernel k;
    k.blocks = 1 + pick(3);
    k.threads = 32 * (1 + pick(4));
    threads_ = k.threads;
    prologue();
    int statements = 6 + int(pick(10));
    for (int i = 0; i < statements; ++i) statement(0, true);
    epilogue(k.words);
    k.ptx =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param "
        ".u64 in)\n{\n" +
        registers() + text_ + "}\n";
    return k;
  }

 private:
  uint32_t pick(uint32_t n) { return uint32_t(engine_() % n); }
  std::string r() { return "%r" + std::to_string(pick(kInts)); }
  std::string f() { return "%f" + std::to_string(pick(kFloats)); }
  std::string d() { return "%rd" + std::to_string(pick(kLongs)); }
  std::string temp() { return "%t" + std::to_string(temps_++); }
  std::string predicate() { return "%p" + std::to_string(predicates_++); }
  std::string label() { return "L" + std::to_string(labels_++); }
  std::string immediate() {
    static const char* kValues[] = {"0",          "1",           "2",     "3",        "7",  "16",
                                    "31",         "32",          "33",    "255",      "-1", "-2",
                                    "2147483647", "-2147483648", "65535", "305419896"};
    return kValues[pick(16)];
  }
  std::string int_source() { return pick(4) == 0 ? immediate() : r(); }
  void line(const std::string& s) { text_ += "  " + s + ";\n"; }
  void mark(const std::string& l) { text_ += l + ":\n"; }

  std::string registers() const {
    return "  .reg .b32 %r<8>, %t<" + std::to_string(temps_ + 1) +
           ">, %tid0, %n0;\n  .reg .b64 %rd<2>, %a<8>;\n  .reg .f32 %f<4>, %g<4>;\n  .reg .pred "
           "%p<" +
           std::to_string(predicates_ + 1) +
           ">;\n  .shared .align 4 .b8 exchange[512];\n  .shared .align 4 .b8 bins[64];\n  .local "
           ".align 4 .b8 mine[64];\n";
  }

  void prologue() {
    line("mov.u32 %tid0, %tid.x");
    line("mov.u32 %t0, %ctaid.x");
    line("mov.u32 %t1, %ntid.x");
    line("mad.lo.u32 %n0, %t0, %t1, %tid0");
    temps_ = 2;
    line("ld.param.u64 %a0, [in]");
    line("mul.wide.u32 %a1, %n0, 32");
    line("add.s64 %a1, %a0, %a1");
    for (int i = 0; i < kInts; ++i)
      line("ld.global.u32 %r" + std::to_string(i) + ", [%a1+" + std::to_string(4 * i) + "]");
    for (int i = 0; i < kFloats; ++i)
      line("cvt.rn.f32.s32 %f" + std::to_string(i) + ", %r" + std::to_string(i));
    for (int i = 0; i < kLongs; ++i)
      line("mul.wide.u32 %rd" + std::to_string(i) + ", %r" + std::to_string(2 * i) + ", %r" +
           std::to_string(2 * i + 1));
    // Local memory and bins start from known values.
    for (int i = 0; i < 16; ++i)
      line("st.local.u32 [mine+" + std::to_string(4 * i) + "], %r" + std::to_string(i % kInts));
    std::string p = predicate(), t = temp();
    line("setp.lt.u32 " + p + ", %tid0, 16");
    line("shl.b32 " + t + ", %tid0, 2");
    std::string base = temp(), at = temp();
    line("mov.u32 " + base + ", bins");
    line("add.u32 " + at + ", " + base + ", " + t);
    line("@" + p + " st.shared.u32 [" + at + "], 0");
    line("bar.sync 0");
  }

  void epilogue(uint32_t words) {
    line("bar.sync 0");
    std::string t = temp(), base = temp(), at = temp();
    line("and.b32 " + t + ", %tid0, 15");
    line("shl.b32 " + t + ", " + t + ", 2");
    line("mov.u32 " + base + ", bins");
    line("add.u32 " + at + ", " + base + ", " + t);
    std::string bin = temp();
    line("ld.shared.u32 " + bin + ", [" + at + "]");
    line("ld.param.u64 %a2, [out]");
    line("mul.wide.u32 %a3, %n0, " + std::to_string(4 * words));
    line("add.s64 %a3, %a2, %a3");
    int at_word = 0;
    auto out = [&](const std::string& type, const std::string& v) {
      line("st.global." + type + " [%a3+" + std::to_string(4 * at_word++) + "], " + v);
    };
    for (int i = 0; i < kInts; ++i) out("u32", "%r" + std::to_string(i));
    for (int i = 0; i < kFloats; ++i) out("f32", "%f" + std::to_string(i));
    out("u32", bin);
    std::string low = temp();
    line("cvt.u32.u64 " + low + ", %rd0");
    out("u32", low);
    line("st.global.u64 [%a3+" + std::to_string(4 * at_word) + "], %rd1");
    line("ret");
  }

  // `together`: all threads of the block are here, so barriers and warp operations are allowed.
  void statement(int depth, bool together) {
    uint32_t kind = pick(together ? 22 : 16);
    if (depth >= 3 && kind >= 12 && kind < 16) kind = pick(12);
    if (kind < 5)
      integer_operation("");
    else if (kind < 7)
      float_operation();
    else if (kind == 7)
      long_operation();
    else if (kind == 8)
      conversion();
    else if (kind == 9)
      selection();
    else if (kind == 10)
      local_memory();
    else if (kind == 11)
      guarded();
    else if (kind < 14)
      branch(depth);
    else if (kind < 16)
      loop(depth, together);
    else if (kind < 18)
      exchange();
    else if (kind < 21)
      warp_operation();
    else
      count_bins();
  }

  void integer_operation(const std::string& guard) {
    static const char* kTwo[] = {"add.u32", "sub.s32", "mul.lo.u32", "and.b32",
                                 "or.b32",  "xor.b32", "min.s32",    "max.s32",
                                 "min.u32", "max.u32", "mul.hi.u32", "mul.hi.s32"};
    uint32_t kind = pick(17);
    std::string to = r();
    if (kind < 12)
      line(guard + kTwo[kind] + " " + to + ", " + r() + ", " + int_source());
    else if (kind == 12)
      line(guard + "mad.lo.s32 " + to + ", " + r() + ", " + int_source() + ", " + r());
    else if (kind == 13)
      line(guard + "shl.b32 " + to + ", " + r() + ", " + int_source());
    else if (kind == 14)
      line(guard + (pick(2) ? "shr.u32 " : "shr.s32 ") + to + ", " + r() + ", " + int_source());
    else {
      std::string t = temp();
      line("or.b32 " + t + ", " + r() + ", 1");
      line(guard + (kind == 15 ? (pick(2) ? "div.u32 " : "rem.u32 ") : "div.s32 ") + to + ", " +
           r() + ", " + t);
    }
  }

  void float_operation() {
    uint32_t kind = pick(7);
    std::string to = f();
    if (kind < 3)
      line(std::string(kind == 0   ? "add.rn.f32 "
                       : kind == 1 ? "sub.rn.f32 "
                                   : "mul.rn.f32 ") +
           to + ", " + f() + ", " + f());
    else if (kind == 3)
      line("fma.rn.f32 " + to + ", " + f() + ", " + f() + ", " + f());
    else if (kind == 4)
      line((pick(2) ? "min.f32 " : "max.f32 ") + to + ", " + f() + ", " + f());
    else if (kind == 5)
      line("mul.rn.f32 " + to + ", " + f() + ", 0f3DCCCCCD");
    else
      line((pick(2) ? "neg.f32 " : "abs.f32 ") + to + ", " + f());
  }

  void long_operation() {
    uint32_t kind = pick(5);
    std::string to = d();
    if (kind == 0)
      line("mul.wide.u32 " + to + ", " + r() + ", " + r());
    else if (kind == 1)
      line("add.s64 " + to + ", " + d() + ", " + d());
    else if (kind == 2)
      line("xor.b64 " + to + ", " + d() + ", " + d());
    else if (kind == 3)
      line("shr.u64 " + to + ", " + d() + ", " + std::to_string(pick(70)));
    else
      line("mul.lo.s64 " + to + ", " + d() + ", " + d());
  }

  void conversion() {
    switch (pick(5)) {
      case 0: line("cvt.rn.f32.s32 " + f() + ", " + r()); break;
      case 1: line("cvt.rzi.s32.f32 " + r() + ", " + f()); break;
      case 2: line("cvt.u32.u64 " + r() + ", " + d()); break;
      case 3: line("cvt.s64.s32 " + d() + ", " + r()); break;
      default: line("cvt.rni.u32.f32 " + r() + ", " + f()); break;
    }
  }

  std::string comparison() {
    static const char* kCompare[] = {"setp.lt.s32", "setp.ge.u32", "setp.eq.s32",
                                     "setp.ne.u32", "setp.gt.s32", "setp.le.u32"};
    std::string p = predicate();
    if (pick(5) == 0)
      line("setp.lt.f32 " + p + ", " + f() + ", " + f());
    else
      line(std::string(kCompare[pick(6)]) + " " + p + ", " + r() + ", " + int_source());
    return p;
  }

  void selection() {
    std::string p = comparison();
    line("selp.b32 " + r() + ", " + r() + ", " + int_source() + ", " + p);
  }

  void guarded() {
    std::string p = comparison();
    integer_operation((pick(2) ? "@" : "@!") + p + " ");
  }

  void local_memory() {
    std::string t = temp(), a = temp();
    line("and.b32 " + t + ", " + r() + ", 15");
    line("shl.b32 " + t + ", " + t + ", 2");
    line("mov.u32 " + a + ", mine");
    line("add.u32 " + a + ", " + a + ", " + t);
    if (pick(2))
      line("st.local.u32 [" + a + "], " + r());
    else
      line("ld.local.u32 " + r() + ", [" + a + "]");
  }

  void branch(int depth) {
    std::string p = comparison(), other = label(), end = label();
    bool two = pick(2);
    line("@" + p + " bra " + (two ? other : end));
    int n = 1 + int(pick(3));
    for (int i = 0; i < n; ++i) statement(depth + 1, false);
    if (two) {
      line("bra " + end);
      mark(other);
      for (int i = 0; i < 1 + int(pick(2)); ++i) statement(depth + 1, false);
    }
    mark(end);
  }

  void loop(int depth, bool together) {
    std::string count = temp(), limit = temp(), p = predicate(), top = label();
    bool same = together && pick(2);  // the same number of steps for all threads
    if (same)
      line("mov.u32 " + limit + ", " + std::to_string(1 + pick(4)));
    else {
      line("and.b32 " + limit + ", " + r() + ", 7");
      line("add.u32 " + limit + ", " + limit + ", 1");
    }
    line("mov.u32 " + count + ", 0");
    mark(top);
    int n = 1 + int(pick(3));
    for (int i = 0; i < n; ++i) statement(depth + 1, same);
    line("add.u32 " + count + ", " + count + ", 1");
    line("setp.lt.u32 " + p + ", " + count + ", " + limit);
    line("@" + p + " bra " + top);
  }

  void exchange() {
    std::string a = temp(), t = temp(), base = temp();
    line("mov.u32 " + base + ", exchange");
    line("shl.b32 " + t + ", %tid0, 2");
    line("add.u32 " + a + ", " + base + ", " + t);
    line("st.shared.u32 [" + a + "], " + r());
    line("bar.sync 0");
    std::string t2 = temp(), a2 = temp();
    line("mad.lo.u32 " + t2 + ", %tid0, " + std::to_string(2 * pick(8) + 1) + ", " +
         std::to_string(pick(64)));
    line("rem.u32 " + t2 + ", " + t2 + ", " + std::to_string(threads_));
    line("shl.b32 " + t2 + ", " + t2 + ", 2");
    line("add.u32 " + a2 + ", " + base + ", " + t2);
    line("ld.shared.u32 " + r() + ", [" + a2 + "]");
    line("bar.sync 0");
  }

  void warp_operation() {
    switch (pick(6)) {
      case 0:
        line("shfl.sync.bfly.b32 " + r() + ", " + r() + ", " + std::to_string(pick(32)) +
             ", 31, -1");
        break;
      case 1:
        line("shfl.sync.idx.b32 " + r() + ", " + r() + ", " + std::to_string(pick(32)) +
             ", 31, -1");
        break;
      case 2:
        line("shfl.sync.up.b32 " + r() + ", " + r() + ", " + std::to_string(pick(32)) + ", 0, -1");
        break;
      case 3:
        line("shfl.sync.down.b32 " + r() + ", " + r() + ", " + std::to_string(pick(32)) +
             ", 31, -1");
        break;
      case 4: {
        std::string p = comparison();
        line("vote.sync.ballot.b32 " + r() + ", " + p + ", -1");
        break;
      }
      default: line("redux.sync.add.u32 " + r() + ", " + r() + ", -1"); break;
    }
  }

  void count_bins() {
    std::string t = temp(), a = temp();
    line("and.b32 " + t + ", " + r() + ", 15");
    line("shl.b32 " + t + ", " + t + ", 2");
    line("mov.u32 " + a + ", bins");
    line("add.u32 " + a + ", " + a + ", " + t);
    line("red.shared.add.u32 [" + a + "], " + std::to_string(1 + pick(9)));
  }

  std::mt19937_64 engine_;
  std::string text_;
  uint32_t threads_ = 32;
  int temps_ = 0, predicates_ = 0, labels_ = 0;
};

}  // namespace

RandomKernel make_kernel(uint64_t seed) { return Generator(seed).make(); }

uint32_t input_word(uint64_t index) {
  uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  // Small numbers, extremes and anything.
  switch (z & 3) {
    case 0: return uint32_t(z >> 8) & 31;
    case 1: return (z >> 8) & 1 ? 0x7fffffffu : 0x80000000u;
    default: return uint32_t(z >> 16);
  }
}

uint64_t hash_words(const std::vector<uint32_t>& words) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (uint32_t w : words)
    for (int i = 0; i < 4; ++i) h = (h ^ ((w >> (8 * i)) & 255)) * 0x100000001b3ull;
  return h;
}

}  // namespace tw::random
