#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emu/ir.h"
#include "emu/program.h"
#include "isa/lane_rows.h"
#include "machine_cases.h"
#include "values.h"

namespace tw::isa_test {
namespace {

using isa::Field;
using isa::RowInfo;
using ptx::Type;

bool is_float(Type t) {
  return t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2 ||
         t == Type::f32 || t == Type::f64;
}
bool is_brain(Type t) { return t == Type::bf16 || t == Type::bf16x2; }
bool is_signed_integer(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}
bool is_bits(Type t) { return t == Type::b8 || t == Type::b16 || t == Type::b32 || t == Type::b64; }

// Whether every value of one integer type is one of another's: there .sat does not exist.
bool holds_all(Type to, Type from) {
  const bool to_signed = is_signed_integer(to), from_signed = is_signed_integer(from);
  const uint32_t to_bits = ptx::type_bytes(to) * 8 - to_signed;
  const uint32_t from_bits = ptx::type_bytes(from) * 8 - from_signed;
  return to_bits >= from_bits && (to_signed || !from_signed);
}

// Grammars are a little wider than the manual's lists of forms; these are the forms that do not
// exist.
bool exists(const RowInfo& info, const isa::Match& m, const std::vector<std::string>& words) {
  auto has = [&](std::string_view w) {
    return std::find(words.begin(), words.end(), w) != words.end();
  };
  std::string_view opcode = info.opcode();
  const bool convert = opcode == "cvt", compare = opcode == "setp" || opcode == "set";
  Type source = m.type2 != Type::none ? m.type2 : m.type;
  if (m.type == Type::f64 && !convert && !has("approx") && (has("ftz") || has("sat"))) return false;
  if (has("xorsign") != has("abs") && opcode != "abs" && info.operands != "d, a, b, c")
    return false;
  if ((opcode == "min" || opcode == "max") && m.type == Type::f64 && (has("NaN") || has("xorsign")))
    return false;
  if (opcode == "mad" && is_float(m.type) && !has("rn") && !has("rz") && !has("rm") && !has("rp"))
    return false;
  if (is_brain(m.type) && (has("ftz") || has("sat")) && !convert && opcode != "ex2") return false;
  if (has("relu") && has("sat")) return false;
  if (opcode == "vset2" || opcode == "vset4")
    return !(has("lo") || has("ls") || has("hi") || has("hs") || has("equ") || has("neu") ||
             has("ltu") || has("leu") || has("gtu") || has("geu") || has("num") || has("nan"));
  if (info.grammar.starts_with("v") && has("sat") && has("add")) return false;
  if (compare) {
    bool unsigned_word = has("lo") || has("ls") || has("hi") || has("hs");
    bool float_word = has("equ") || has("neu") || has("ltu") || has("leu") || has("gtu") ||
                      has("geu") || has("num") || has("nan");
    if (is_float(source) ? unsigned_word : float_word) return false;
    if (is_bits(source) && !has("eq") && !has("ne")) return false;
    if (is_signed_integer(source) && unsigned_word) return false;
    if (has("ftz") && source != Type::f32 && source != Type::f16 && source != Type::f16x2)
      return false;
    if (is_brain(source) && m.type == Type::f16) return false;
    if (source == Type::f16 && m.type == Type::bf16) return false;
    if ((source == Type::f16 || source == Type::bf16) && m.type == Type::f32) return false;
  }
  if (opcode == "slct") return !has("ftz") || m.type2 == Type::f32;
  if (convert) {
    bool to_int = !is_float(m.type) && m.type != Type::tf32, from_int = !is_float(source);
    if (has("ftz") && m.type != Type::f32 && source != Type::f32) return false;
    const bool byte = ptx::type_bytes(m.type) == 1 || ptx::type_bytes(source) == 1;
    if (byte && (is_brain(m.type) || is_brain(source))) return false;
    if (has("sat") && to_int && from_int && holds_all(m.type, source)) return false;
    if (has("ftz") && from_int && m.type != Type::f32) return false;
    if (info.grammar.find("satfinite") != std::string_view::npos &&
        (m.type == Type::f16 || m.type == Type::bf16)) {
      bool narrow = has("relu") || has("satfinite");
      if (narrow && (source != Type::f32 || has("ftz") || has("sat") || has("rm") || has("rp")))
        return false;
      if (source == m.type) return false;
    }
    if ((m.type == Type::f16x2 || m.type == Type::bf16x2 || m.type == Type::tf32) &&
        (has("rm") || has("rp")))
      return false;
    if (is_brain(m.type) || is_brain(source)) {
      if (has("sat") || has("ftz")) return false;
    }
    if (to_int && has("sat") && !from_int) return true;
  }
  return true;
}

// setp p|q: not for single halves.
bool has_second_predicate(const RowInfo& info, Type type) {
  return info.opcode() == "setp" && type != Type::f16 && type != Type::bf16;
}

std::string type_for(uint8_t bytes) {
  return bytes == 0 ? "pred" : bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16";
}
uint8_t slot_bytes(Type t) {
  return t == Type::pred ? 0 : uint8_t(std::max<uint32_t>(2, ptx::type_bytes(t)));
}

Case make_case(isa::RowId row, const isa::Match& match, const std::string& spelling) {
  Case c;
  c.row = row, c.match = match, c.name = spelling;
  const emu::LaneEntry& entry = *emu::find_entry(emu::host_target(), row, match.type, match.type2);
  const RowInfo& info = isa::row_info(row);
  uint32_t sources = entry.sources - (info.carry_in ? 1u : 0u);
  std::string text = spelling;
  const bool pair = has_second_predicate(info, match.type);
  text += pair ? " %d|%q" : " %d";
  for (uint32_t i = 0; i < sources; ++i) {
    std::string type = type_for(entry.source_bytes[i]);
    bool selector = info.opcode() == "slct" && i < 2;
    for (Type t : {match.type2, match.type}) {
      if (t == Type::none || slot_bytes(t) != entry.source_bytes[i] ||
          (selector && t == match.type2))
        continue;
      type = ptx::type_name(t);
      break;
    }
    if (info.opcode().starts_with("dp") && i == 0) type = ptx::type_name(match.type);
    c.operands.push_back(type);
    text += fmt::format(", %a{}", i);
  }
  c.instruction = text;
  c.result = type_for(entry.destination_bytes);
  if (entry.destination_bytes != 0 && slot_bytes(match.type) == entry.destination_bytes)
    c.result = ptx::type_name(match.type);
  c.result_bytes = std::max<uint8_t>(1, entry.destination_bytes);
  if (match.mods[Field::carry_out] || info.carry_in) c.result = "carry", c.result_bytes = 8;
  c.seed = hash_of(c.name);
  return c;
}

// @K in a kernel written out is its name.
std::string with_name(std::string text, const std::string& name) {
  for (size_t at = text.find("@K"); at != std::string::npos; at = text.find("@K", at + name.size()))
    text.replace(at, 2, name);
  return text;
}

std::string register_class(std::string_view type) {
  ValueKind k = value_kind(type);
  if (k.shape == Shape::predicate) return "pred";
  uint32_t bits = uint32_t(k.bits) * k.elements;
  return fmt::format("b{}", std::max(16u, bits));
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (isa::RowId row = 0; row < isa::kLaneRows; ++row) {
    const RowInfo& info = isa::row_info(row);
    std::vector<std::vector<std::string>> spellings = isa::spellings(row);
    // A fixed shuffle, so that the covering set does not lean to the first words of each slot.
    uint64_t state = hash_of(info.grammar);
    for (size_t i = spellings.size(); i > 1; --i)
      std::swap(spellings[i - 1], spellings[next_random(state) % i]);
    std::set<std::pair<std::string, std::string>> covered;
    for (const std::vector<std::string>& words : spellings) {
      std::optional<isa::Match> match = isa::match_words(row, words);
      if (!match || !exists(info, *match, words)) continue;
      bool fresh = false;
      std::vector<std::string> tagged;
      for (size_t i = 0; i < words.size(); ++i)
        tagged.push_back(words[i].empty() ? fmt::format("-{}", i)
                                          : fmt::format("{}{}", words[i], i));
      for (size_t i = 0; i < tagged.size(); ++i)
        for (size_t j = i; j < tagged.size(); ++j)
          fresh |= covered.emplace(tagged[i], tagged[j]).second;
      if (!fresh) continue;
      std::string spelling(info.opcode());
      for (const std::string& w : words)
        if (!w.empty()) spelling += "." + w;
      if (info.types.size() == 1 && info.types[0] == Type::pred)
        continue;  // and.pred and the like: through setp's operands
      if (info.opcode() == "lop3") {
        for (uint32_t table : {0x96u, 0xe8u, 0xcau, 0x1fu, 0x80u, 0x40u}) {
          Case c = make_case(row, *match, spelling);
          c.name = fmt::format("{} 0x{:x}", spelling, table);
          c.operands.pop_back();
          c.instruction.replace(c.instruction.rfind("%a3"), 3, fmt::format("0x{:x}", table));
          c.seed = hash_of(c.name);
          cases.push_back(c);
        }
        continue;
      }
      cases.push_back(make_case(row, *match, spelling));
    }
  }
  for (Case& c : machine_cases()) cases.push_back(std::move(c));
  return cases;
}

uint64_t case_key(const Case& c) {
  uint64_t values = 0;
  for (uint64_t v : input_values(c.operands, c.seed)) values = values * 31 + v;
  return hash_of(fmt::format("{}|{}|{}|{:x}|{}", kernel_text(c, "k", Mode::plain), c.result,
                             c.result_bytes, values, kTuples));
}

bool newer_than_h200(const Case& c) {
  const bool saturates_tf32 = c.match.type == Type::tf32 && c.match.mods[Field::satfinite] &&
                              c.match.mods[Field::rnd] != isa::kRna;
  return isa::row_info(c.row).min_sm > 90 || saturates_tf32;
}

std::string module_header(bool newest) {
  return newest ? ".version 8.8\n.target sm_100a\n.address_size 64\n"
                : ".version 8.6\n.target sm_90\n.address_size 64\n";
}

std::string kernel_text(const Case& c, const std::string& name, Mode mode) {
  const RowInfo& info = isa::row_info(c.row);
  const bool carry = c.result == "carry";
  const bool second = has_second_predicate(info, c.match.type);
  std::string d_class = !c.body.empty() ? "b64"
                        : carry         ? fmt::format("b{}", ptx::type_bytes(c.match.type) * 8)
                                        : register_class(c.result);
  std::string text = fmt::format(
      ".visible .entry {}(.param .u64 out, .param .u64 in)\n{{\n.reg .pred %g, %q, %pp;\n.reg .b64 "
      "%out, %in, %r, %k;\n.reg .b32 %t, %m;\n",
      name);
  if (c.body.empty()) text += fmt::format(".reg .{} %d;\n", d_class);
  for (size_t i = 0; i < c.operands.size(); ++i)
    text += fmt::format(".reg .{} %a{};\n.reg .b64 %w{};\n", register_class(c.operands[i]), i, i);
  text += fmt::format("ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nmov.u32 %t, {};\n",
                      mode == Mode::uniform ? "%ctaid.x" : "%tid.x");
  text += fmt::format(
      "mul.wide.u32 %k, %t, {};\nadd.u64 %in, %in, %k;\nmul.wide.u32 %k, %t, 8;\nadd.u64 %out, "
      "%out, %k;\n",
      c.operands.size() * 8);
  for (size_t i = 0; i < c.operands.size(); ++i) {
    std::string reg = register_class(c.operands[i]);
    text += fmt::format("ld.global.u64 %w{}, [%in+{}];\n", i, i * 8);
    if (reg == "pred")
      text += fmt::format("setp.ne.u64 %a{}, %w{}, 0;\n", i, i);
    else if (reg == "b64")
      text += fmt::format("mov.b64 %a{}, %w{};\n", i, i);
    else
      text += fmt::format("cvt.u{}.u64 %a{}, %w{};\n", reg.substr(1), i, i);
  }
  if (!c.body.empty()) {
    text += ".reg .pred %odd;\nand.b32 %m, %t, 1;\nsetp.ne.u32 %odd, %m, 0;\n";
    return with_name(c.module_scope + text + c.body + "st.global.u64 [%out], %r;\nret;\n}\n", name);
  }
  std::string guard;
  if (mode == Mode::guarded) {
    text += "and.b32 %m, %t, 1;\nsetp.ne.u32 %g, %m, 0;\nsetp.ne.u32 %q, 0, 0;\n";
    text += d_class == "pred" ? "setp.ne.u32 %d, 0, 0;\n" : fmt::format("mov.{} %d, 0;\n", d_class);
    guard = "@%g ";
  }
  // Carry chains start from a carry that the inputs decide and end by reading the last one.
  if (carry) {
    std::string type = c.match.type == Type::u64 || c.match.type == Type::s64 ? "u64" : "u32";
    std::string zero = type == "u64" ? ".reg .b64 %z, %y;\nmov.b64 %z, 0;\n"
                                     : ".reg .b32 %z, %y;\nmov.b32 %z, 0;\n";
    text += zero;
    bool borrow = info.opcode().starts_with("sub");
    if (info.carry_in)
      text += fmt::format("{}{}.cc.{} %y, %a0, %a1;\n", guard, borrow ? "sub" : "add", type);
    text += guard + c.instruction + ";\n";
    text += fmt::format("{}{}.{} %y, %z, %z;\n", guard, borrow ? "subc" : "addc", type);
    if (mode == Mode::guarded) text += fmt::format("@!%g mov.b{} %y, 0;\n", type.substr(1));
    text += type == "u64" ? "mov.b64 %r, %d;\nmov.b64 %k, %y;\n"
                          : "cvt.u64.u32 %r, %d;\ncvt.u64.u32 %k, %y;\n";
    text += "mad.lo.u64 %r, %k, 0x9e3779b97f4a7c15, %r;\n";
  } else {
    text += guard + c.instruction + ";\n";
    if (d_class == "pred") {
      text += "selp.b64 %r, 1, 0, %d;\n";
      if (second) text += "selp.b64 %k, 2, 0, %q;\nor.b64 %r, %r, %k;\n";
    } else if (d_class == "b64") {
      text += "mov.b64 %r, %d;\n";
    } else {
      text += fmt::format("cvt.u64.u{} %r, %d;\n", d_class.substr(1));
    }
  }
  return text + "st.global.u64 [%out], %r;\nret;\n}\n";
}

}  // namespace tw::isa_test
