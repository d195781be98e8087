#include <fmt/format.h>

#include "case_list.h"

namespace tw::isa_test {

// Scalar and SIMD video instructions with selectors, merges and second operations: a fixed choice
// among the many spellings.
void video_cases(Cases& cases) {
  uint64_t state = hash_of("video");
  const auto pick = [&](const Words& words) { return words[next_random(state) % words.size()]; };
  const Words sign = {"u32", "s32"}, part = {"", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"},
              compares = {"eq", "ne", "lt", "le", "gt", "ge"};
  const auto any_sign = [&] { return fmt::format(".{}", pick(sign)); };
  const auto add = [&](const std::string& spelling, const std::string& d,
                       const std::string& sources) {
    cases.add(fmt::format("{} {} {}", spelling, d, sources), {"b32", "b32", "b32"},
              fmt::format(".reg .b32 %d;\nmov.b32 %d, 0;\n{} {}, {};\ncvt.u64.u32 %r, %d;\n",
                          spelling, d, sources));
  };
  for (const char* opcode : {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"})
    for (int i = 0; i < 24; i++) {
      const std::string op = opcode;
      const bool shift = op == "vshl" || op == "vshr", set = op == "vset";
      std::string spelling = op;
      if (!set) spelling += any_sign();
      const std::string second = shift ? ".u32" : any_sign();
      spelling += any_sign() + second;
      if (!set && i % 3 == 1) spelling += ".sat";
      if (shift) spelling += pick({".clamp", ".wrap"});
      if (set) spelling.append(1, '.').append(compares[size_t(i) % 6]);
      const std::string part1 = pick(part), part0 = pick(part);
      const std::string sources = fmt::format("%a0{}, %a1{}", part0, part1);
      if (i < 8)
        add(spelling, "%d", sources);
      else if (i < 16)
        add(spelling + pick({".add", ".min", ".max"}), "%d", sources + ", %a2");
      else
        add(spelling, "%d" + part[2 + size_t(i) % 6], sources + ", %a2");
    }
  for (int i = 0; i < 24; i++) {
    const Words signs[] = {{"", "", ""}, {"-", "", ""}, {"", "-", ""}, {"", "", "-"}};
    const Words& minus = signs[size_t(i) % 4];
    const std::string sign2 = pick(sign), sign1 = pick(sign), sign0 = pick(sign);
    std::string spelling = fmt::format("vmad.{}.{}.{}", sign0, sign1, sign2);
    if (i % 5 == 4) spelling += ".po";
    if (i % 3 == 1) spelling += ".sat";
    spelling += pick({"", ".shr7", ".shr15"});
    const bool po = i % 5 == 4;
    const std::string part1 = pick(part), part0 = pick(part);
    add(spelling, "%d",
        fmt::format("{}%a0{}, {}%a1{}, {}%a2", po ? "" : minus[0], part0, po ? "" : minus[1], part1,
                    po ? "" : minus[2]));
  }
  for (const int parts : {2, 4})
    for (const char* opcode : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"})
      for (int i = 0; i < 12; i++) {
        const bool set = std::string_view(opcode) == "vset";
        std::string spelling = fmt::format("{}{}", opcode, parts);
        if (!set) spelling += any_sign();
        const std::string second = any_sign();
        spelling += any_sign() + second;
        if (set) spelling.append(1, '.').append(compares[size_t(i) % 6]);
        const bool sum = i % 3 == 2;
        if (!set && !sum && i % 2) spelling += ".sat";
        if (sum) spelling += ".add";
        const auto selector = [&] {
          if (next_random(state) % 3 == 0) return std::string();
          std::string text = parts == 2 ? ".h" : ".b";
          for (int k = 0; k < parts; k++)
            text += char('0' + next_random(state) % (2 * uint64_t(parts)));
          return text;
        };
        const std::string mask =
            parts == 2 ? pick({"", ".h0", ".h1", ".h10"})
                       : pick({"", ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3",
                               ".b30", ".b31", ".b310", ".b32", ".b320", ".b321", ".b3210"});
        const std::string selector1 = selector(), selector0 = selector();
        add(spelling, "%d" + mask, fmt::format("%a0{}, %a1{}, %a2", selector0, selector1));
      }
}

}  // namespace tw::isa_test
