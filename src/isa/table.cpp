// Grammar strings are compiled once into slots; matching walks an instruction's modifiers along the
// slots of each row of its opcode. Words are turned into small ids first, so that a match costs a
// few table look-ups (decode has about 2 us an instruction in all).
#include "isa/table.h"

#include <fmt/format.h>

#include <array>
#include <bitset>
#include <unordered_map>
#include <vector>

#include "isa/lane_rows.h"
#include "isa/matrix.h"

namespace tw::isa {
namespace {

struct Word {
  std::string_view text;
  std::string_view word_class;  // "" for a literal with no class
  Field field;
  uint8_t value;
};

// The shapes of wgmma: m64 n8 to n256. Field::geometry is N / 8 (isa/matrix.h).
// clang-format off
#define TW_WGMMA(n, k, words) {"m64n" #n "k" #k, words, Field::geometry, (n) / 8}
#define TW_WGMMA_64(a, b, c, d, e, f, g, h, k, words) TW_WGMMA(a, k, words), TW_WGMMA(b, k, words), TW_WGMMA(c, k, words), TW_WGMMA(d, k, words), TW_WGMMA(e, k, words), TW_WGMMA(f, k, words), TW_WGMMA(g, k, words), TW_WGMMA(h, k, words)
#define TW_WGMMA_SHAPES(k, words) TW_WGMMA_64(8, 16, 24, 32, 40, 48, 56, 64, k, words), TW_WGMMA_64(72, 80, 88, 96, 104, 112, 120, 128, k, words), \
    TW_WGMMA_64(136, 144, 152, 160, 168, 176, 184, 192, k, words), TW_WGMMA_64(200, 208, 216, 224, 232, 240, 248, 256, k, words)
// clang-format on

constexpr Word kWords[] = {
    {"rn", "rnd", Field::rnd, kRn},
    {"rz", "rnd", Field::rnd, kRz},
    {"rm", "rnd", Field::rnd, kRm},
    {"rp", "rnd", Field::rnd, kRp},
    {"rni", "irnd", Field::rnd, kRni},
    {"rzi", "irnd", Field::rnd, kRzi},
    {"rmi", "irnd", Field::rnd, kRmi},
    {"rpi", "irnd", Field::rnd, kRpi},
    {"rna", "rna", Field::rnd, kRna},
    {"rs", "rs", Field::rnd, kRs},
    {"ftz", "", Field::ftz, 1},
    {"sat", "", Field::sat, 1},
    {"satfinite", "", Field::satfinite, 1},
    {"relu", "", Field::relu, 1},
    {"NaN", "", Field::nan, 1},
    {"xorsign", "", Field::xorsign, 1},
    {"approx", "", Field::approx, 1},
    {"full", "", Field::full, 1},
    {"noftz", "", Field::noftz, 1},
    {"eq", "cmp", Field::cmp, kEq},
    {"ne", "cmp", Field::cmp, kNe},
    {"lt", "cmp", Field::cmp, kLt},
    {"le", "cmp", Field::cmp, kLe},
    {"gt", "cmp", Field::cmp, kGt},
    {"ge", "cmp", Field::cmp, kGe},
    {"lo", "cmp", Field::cmp, kLo},
    {"ls", "cmp", Field::cmp, kLs},
    {"hi", "cmp", Field::cmp, kHi},
    {"hs", "cmp", Field::cmp, kHs},
    {"equ", "cmp", Field::cmp, kEqu},
    {"neu", "cmp", Field::cmp, kNeu},
    {"ltu", "cmp", Field::cmp, kLtu},
    {"leu", "cmp", Field::cmp, kLeu},
    {"gtu", "cmp", Field::cmp, kGtu},
    {"geu", "cmp", Field::cmp, kGeu},
    {"num", "cmp", Field::cmp, kNum},
    {"nan", "cmp", Field::cmp, kNan},
    {"and", "boolop", Field::boolop, kBoolAnd},
    {"or", "boolop", Field::boolop, kBoolOr},
    {"xor", "boolop", Field::boolop, kBoolXor},
    {"f4e", "prmtmode", Field::operation, kOpF4e},
    {"b4e", "prmtmode", Field::operation, kOpB4e},
    {"rc8", "prmtmode", Field::operation, kOpRc8},
    {"ecl", "prmtmode", Field::operation, kOpEcl},
    {"ecr", "prmtmode", Field::operation, kOpEcr},
    {"rc16", "prmtmode", Field::operation, kOpRc16},
    {"finite", "testop", Field::operation, kOpFinite},
    {"infinite", "testop", Field::operation, kOpInfinite},
    {"number", "testop", Field::operation, kOpNumber},
    {"notanumber", "testop", Field::operation, kOpNotANumber},
    {"normal", "testop", Field::operation, kOpNormal},
    {"subnormal", "testop", Field::operation, kOpSubnormal},
    {"u32", "atype", Field::type_a, 0},
    {"s32", "atype", Field::type_a, 1},
    {"u32", "btype", Field::type_b, 0},
    {"s32", "btype", Field::type_b, 1},
    {"add", "accumulate", Field::operation, kOpAdd},
    {"add", "atomvec", Field::operation, kOpAdd},
    {"min", "atomvec", Field::operation, kOpMin},
    {"max", "atomvec", Field::operation, kOpMax},
    {"add", "second", Field::operation, kOpAdd},
    {"min", "second", Field::operation, kOpMin},
    {"max", "second", Field::operation, kOpMax},
    {"abs", "", Field::abs, 1},
    {"shiftamt", "", Field::shiftamt, 1},
    {"wide", "", Field::part, kWide},
    {"cc", "", Field::carry_out, 1},
    {"po", "", Field::carry_out, 1},  // vmad: one more is added
    {"shr7", "scale", Field::shift, 7},
    {"shr15", "scale", Field::shift, 15},
    {"global", "space", Field::space, kGlobal},
    {"shared", "space", Field::space, kShared},
    {"shared::cta", "space", Field::space, kShared},
    {"shared::cluster", "space", Field::space, kSharedCluster},
    {"local", "space", Field::space, kLocal},
    {"const", "space", Field::space, kConst},
    {"param", "space", Field::space, kParam},
    {"param::entry", "space", Field::space, kParam},
    {"param::func", "space", Field::space, kParam},
    {"weak", "ordering", Field::ordering, kWeak},
    {"volatile", "ordering", Field::ordering, kVolatile},
    {"relaxed", "ordering", Field::ordering, kRelaxed},
    {"acquire", "ordering", Field::ordering, kAcquire},
    {"release", "ordering", Field::ordering, kRelease},
    {"acq_rel", "ordering", Field::ordering, kAcqRel},
    {"sc", "ordering", Field::ordering, kSc},
    {"cta", "scope", Field::scope, kScopeCta},
    {"cluster", "scope", Field::scope, kScopeCluster},
    {"gpu", "scope", Field::scope, kScopeGpu},
    {"gl", "scope", Field::scope, kScopeGpu},
    {"sys", "scope", Field::scope, kScopeSys},
    {"mmio", "", Field::mmio, 1},
    {"v2", "vec", Field::vec, 2},
    {"v4", "vec", Field::vec, 4},
    {"v8", "vec", Field::vec, 8},
    {"uni", "", Field::uniform, 1},
    {"aligned", "", Field::uniform, 1},
    {"sync", "", Field::sync, 1},
    {"to", "", Field::to, 1},
    {"add", "atomop", Field::operation, kOpAdd},
    {"min", "atomop", Field::operation, kOpMin},
    {"max", "atomop", Field::operation, kOpMax},
    {"and", "atomop", Field::operation, kOpAnd},
    {"or", "atomop", Field::operation, kOpOr},
    {"xor", "atomop", Field::operation, kOpXor},
    {"exch", "atomop", Field::operation, kOpExch},
    {"cas", "casop", Field::operation, kOpCas},
    {"exch", "atomwide", Field::operation, kOpExch},
    {"cas", "atomwide", Field::operation, kOpCas},
    {"inc", "atomop", Field::operation, kOpInc},
    {"dec", "atomop", Field::operation, kOpDec},
    {"and", "redop", Field::operation, kOpAnd},
    {"or", "redop", Field::operation, kOpOr},
    {"up", "shflmode", Field::operation, kOpUp},
    {"down", "shflmode", Field::operation, kOpDown},
    {"bfly", "shflmode", Field::operation, kOpBfly},
    {"idx", "shflmode", Field::operation, kOpIdx},
    {"all", "votemode", Field::operation, kOpAll},
    {"any", "votemode", Field::operation, kOpAny},
    {"uni", "votemode", Field::operation, kOpUni},
    {"add", "reduxop", Field::operation, kOpAdd},
    {"min", "reduxop", Field::operation, kOpMin},
    {"max", "reduxop", Field::operation, kOpMax},
    {"and", "reduxlogic", Field::operation, kOpAnd},
    {"or", "reduxlogic", Field::operation, kOpOr},
    {"xor", "reduxlogic", Field::operation, kOpXor},
    {"L1", "level", Field::nontemporal, 0},
    {"L2", "level", Field::nontemporal, 0},
    {"L2::evict_last", "level", Field::nontemporal, 0},
    {"L2::evict_normal", "level", Field::nontemporal, 0},
    {"try_wait", "waitkind", Field::operation, 1},
    {"test_wait", "waitkind", Field::operation, 2},
    {"expect_tx", "", Field::to, 1},
    {"noComplete", "", Field::satfinite, 1},
    {"launch_dependents", "gdcmode", Field::operation, 1},
    {"wait", "gdcmode", Field::operation, 2},
    {"alias", "proxykind", Field::operation, kProxyAlias},
    {"async", "proxykind", Field::operation, kProxyAsync},
    {"noinc", "", Field::noinc, 1},
    {"shared::cta", "sharedside", Field::space, kShared},
    {"shared::cluster", "sharedside", Field::space, kSharedCluster},
    {"release", "arriveorder", Field::ordering, kRelease},
    {"relaxed", "arriveorder", Field::ordering, kRelaxed},
    {"shared::cluster", "clusterspace", Field::space, kSharedCluster},
    {"add", "asyncop", Field::operation, kOpAdd},
    {"min", "asyncop", Field::operation, kOpMin},
    {"max", "asyncop", Field::operation, kOpMax},
    {"inc", "asyncop", Field::operation, kOpInc},
    {"dec", "asyncop", Field::operation, kOpDec},
    {"and", "asyncop", Field::operation, kOpAnd},
    {"or", "asyncop", Field::operation, kOpOr},
    {"xor", "asyncop", Field::operation, kOpXor},
    {"1d", "rank", Field::vec, 1},
    {"2d", "rank", Field::vec, 2},
    {"3d", "rank", Field::vec, 3},
    {"4d", "rank", Field::vec, 4},
    {"5d", "rank", Field::vec, 5},
    {"inc", "regs", Field::operation, 1},
    {"dec", "regs", Field::operation, 2},
    {"clamp", "shiftmode", Field::shift, kShiftClamp},
    {"wrap", "shiftmode", Field::shift, kShiftWrap},
    // Matrix instructions (isa/matrix.h).
    {"m16n8k8", "halfshape", Field::geometry, kM16N8K8},
    {"m16n8k16", "halfshape", Field::geometry, kM16N8K16},
    {"m16n8k4", "tf32shape", Field::geometry, kM16N8K4},
    {"m16n8k8", "tf32shape", Field::geometry, kM16N8K8},
    {"m8n8k4", "doubleshape", Field::geometry, kM8N8K4},
    {"m16n8k4", "doubleshape", Field::geometry, kM16N8K4},
    {"m16n8k8", "doubleshape", Field::geometry, kM16N8K8},
    {"m16n8k16", "doubleshape", Field::geometry, kM16N8K16},
    {"m8n8k16", "byteshape", Field::geometry, kM8N8K16},
    {"m16n8k16", "byteshape", Field::geometry, kM16N8K16},
    {"m16n8k32", "byteshape", Field::geometry, kM16N8K32},
    {"m8n8k32", "nibbleshape", Field::geometry, kM8N8K32},
    {"m16n8k32", "nibbleshape", Field::geometry, kM16N8K32},
    {"m16n8k64", "nibbleshape", Field::geometry, kM16N8K64},
    {"m8n8k128", "bitshape", Field::geometry, kM8N8K128},
    {"m16n8k128", "bitshape", Field::geometry, kM16N8K128},
    {"m16n8k256", "bitshape", Field::geometry, kM16N8K256},
    {"m16n8k32", "float8shape", Field::geometry, kM16N8K32},
    {"m16n16k16", "wmmashape", Field::geometry, kM16N16K16},
    {"m32n8k16", "wmmashape", Field::geometry, kM32N8K16},
    {"m8n32k16", "wmmashape", Field::geometry, kM8N32K16},
    {"m16n16k8", "wmmatf32", Field::geometry, kM16N16K8},
    {"m8n8k4", "wmmadouble", Field::geometry, kM8N8K4},
    {"m16n16k16", "wmmaload", Field::geometry, kM16N16K16},
    {"m32n8k16", "wmmaload", Field::geometry, kM32N8K16},
    {"m8n32k16", "wmmaload", Field::geometry, kM8N32K16},
    {"m16n16k8", "wmmaload", Field::geometry, kM16N16K8},
    {"m8n8k4", "wmmaload", Field::geometry, kM8N8K4},
    TW_WGMMA_SHAPES(16, "wgmma16"),
    TW_WGMMA_SHAPES(8, "wgmma8"),
    TW_WGMMA_SHAPES(32, "wgmma32"),
    TW_WGMMA_SHAPES(256, "wgmma256"),
    {"row", "matrixlayout", Field::layout, kRowMajor},
    {"col", "matrixlayout", Field::layout, kColumnMajor},
    {"x1", "matrixcount", Field::vec, 1},
    {"x2", "matrixcount", Field::vec, 2},
    {"x4", "matrixcount", Field::vec, 4},
    {"u8", "abyte", Field::type_a, 0},
    {"s8", "abyte", Field::type_a, 1},
    {"u8", "bbyte", Field::type_b, 0},
    {"s8", "bbyte", Field::type_b, 1},
    {"u4", "anibble", Field::type_a, 0},
    {"s4", "anibble", Field::type_a, 1},
    {"u4", "bnibble", Field::type_b, 0},
    {"s4", "bnibble", Field::type_b, 1},
    {"e4m3", "afloat8", Field::type_a, 0},
    {"e5m2", "afloat8", Field::type_a, 1},
    {"e4m3", "bfloat8", Field::type_b, 0},
    {"e5m2", "bfloat8", Field::type_b, 1},
    {"and", "bitop", Field::operation, kOpAnd},
    {"xor", "bitop", Field::operation, kOpXor},
    {"trans", "", Field::to, 1},
    // Hints: accepted, without effect on results.
    {"nc", "cache", Field::nontemporal, 1},
    {"ca", "cache", Field::nontemporal, 0},
    {"cg", "cache", Field::nontemporal, 0},
    {"cs", "cache", Field::nontemporal, 0},
    {"cv", "cache", Field::nontemporal, 0},
    {"lu", "cache", Field::nontemporal, 0},
    {"wb", "cache", Field::nontemporal, 0},
    {"wt", "cache", Field::nontemporal, 0},
    {"L1::evict_normal", "cache", Field::nontemporal, 0},
    {"L1::evict_unchanged", "cache", Field::nontemporal, 0},
    {"L1::evict_first", "cache", Field::nontemporal, 0},
    {"L1::evict_last", "cache", Field::nontemporal, 0},
    {"L1::no_allocate", "cache", Field::nontemporal, 0},
    {"L2::evict_normal", "cache", Field::nontemporal, 0},
    {"L2::evict_first", "cache", Field::nontemporal, 0},
    {"L2::evict_last", "cache", Field::nontemporal, 0},
    {"L2::64B", "cache", Field::nontemporal, 0},
    {"L2::128B", "cache", Field::nontemporal, 0},
    {"L2::256B", "cache", Field::nontemporal, 0},
    {"L2::cache_hint", "cache", Field::cache_hint, 1},
    // createpolicy: the digit that ptxas writes into the policy.
    {"L2::evict_unchanged", "primary", Field::operation, 0},
    {"L2::evict_first", "primary", Field::operation, 2},
    {"L2::evict_last", "primary", Field::operation, 4},
    {"L2::evict_normal", "primary", Field::operation, 6},
    {"L2::evict_first", "secondary", Field::nontemporal, 0},
    {"L2::evict_unchanged", "secondary", Field::nontemporal, 0},
};

struct Slot {
  enum class Kind : uint8_t { literal, word_class, type, type2 };
  Kind kind = Kind::literal;
  bool optional = false, repeat = false;
  std::string_view text;  // literal word or class name
};

const Word* find_literal(std::string_view text) {
  for (const Word& w : kWords)
    if (w.text == text && w.word_class.empty()) return &w;
  return nullptr;
}

bool is_class(std::string_view name) {
  for (const Word& w : kWords)
    if (w.word_class == name) return true;
  return false;
}

std::vector<Slot> compile(std::string_view grammar) {
  std::vector<Slot> slots;
  size_t i = grammar.find_first_of(".{");
  while (i < grammar.size()) {
    Slot slot;
    if (grammar[i] == '{') slot.optional = true, ++i;
    ++i;  // '.'
    size_t end = i;
    while (end < grammar.size() && grammar[end] != '.' && grammar[end] != '{' &&
           grammar[end] != '}')
      ++end;
    slot.text = grammar.substr(i, end - i);
    i = end;
    if (slot.optional) ++i;  // '}'
    if (i < grammar.size() && grammar[i] == '*') slot.repeat = true, ++i;
    slot.kind = slot.text == "type"    ? Slot::Kind::type
                : slot.text == "type2" ? Slot::Kind::type2
                : is_class(slot.text)  ? Slot::Kind::word_class
                                       : Slot::Kind::literal;
    slots.push_back(slot);
  }
  return slots;
}

struct Row {
  const RowInfo* info;
  std::vector<Slot> slots;
};

template <class... Rows> void append(std::vector<Row>& rows, RowList<Rows...>) {
  (rows.push_back({&Rows::info, compile(Rows::info.grammar)}), ...);
}

template <class... Groups> void append_groups(std::vector<Row>& rows, GroupList<Groups...>) {
  (append(rows, Groups{}), ...);
}

struct Table {
  std::vector<Row> rows;
  std::unordered_map<std::string_view, std::vector<RowId>> by_opcode;

  Table() {
    append_groups(rows, LaneGroups{});
    for (const RowInfo& info : kMachineTable) rows.push_back({&info, compile(info.grammar)});
    for (RowId i = 0; i < rows.size(); ++i) by_opcode[rows[i].info->opcode()].push_back(i);
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

bool contains(std::span<const Type> types, Type type) {
  for (Type t : types)
    if (t == type) return true;
  return false;
}

// True and the fields set, if `word` fits the slot.
bool fits(const Slot& slot, const RowInfo& info, std::string_view word, Match& match) {
  switch (slot.kind) {
    case Slot::Kind::type:
    case Slot::Kind::type2: {
      Type type = ptx::type_from_name(word);
      bool first = slot.kind == Slot::Kind::type;
      if (type == Type::none || !contains(first ? info.types : info.types2, type)) return false;
      (first ? match.type : match.type2) = type;
      return true;
    }
    case Slot::Kind::word_class:
      for (const Word& w : kWords) {
        if (w.text != word || w.word_class != slot.text) continue;
        match.mods = match.mods.with(w.field, w.value);
        return true;
      }
      return false;
    case Slot::Kind::literal: {
      if (word != slot.text) return false;
      if (const Word* w = find_literal(word))
        match.mods = match.mods.with(w->field, w->value);
      else
        for (const Word& w2 : kWords)
          if (w2.text == word) match.mods = match.mods.with(w2.field, w2.value);
      return true;
    }
  }
  return false;
}

// Rows that take their qualifiers in any order before the type, as ptxas does: compilers write
// atom.global.cta.exch, atom.add.release.gpu and atom.acquire.gpu.global.cas alike, programs
// ld.global.acquire.gpu as well as ld.acquire.gpu.global, ldmatrix.sync.aligned.x4.m8n8 as well as
// ldmatrix.sync.aligned.m8n8.x4.
bool in_any_order(const RowInfo& info) {
  const std::string_view opcode = info.opcode();
  return info.category == Category::atomic || opcode == "ldmatrix" || opcode == "ld" ||
         opcode == "st";
}
bool match_any_order(const Row& row, const std::vector<std::string>& words, Match& match) {
  if (words.empty()) return false;
  std::vector<bool> used(row.slots.size(), false);
  auto place = [&](const std::string& word, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (used[i] || !fits(row.slots[i], *row.info, word, match)) continue;
      used[i] = !row.slots[i].repeat;
      return true;
    }
    return false;
  };
  size_t type = row.slots.size() - 1;
  if (!place(words.back(), type, type + 1)) return false;
  for (size_t w = 0; w + 1 < words.size(); ++w)
    if (!place(words[w], 0, type)) return false;
  for (size_t i = 0; i < row.slots.size(); ++i)
    if (!used[i] && !row.slots[i].optional) return false;
  return true;
}

// A grammar without `.type` has its one type in the spelling or needs none.
bool match_row(const Row& row, const std::vector<std::string>& words, Match& match) {
  if (in_any_order(*row.info)) return match_any_order(row, words, match);
  match.type = row.info->grammar.find(".type") == std::string_view::npos && !row.info->types.empty()
                   ? row.info->types.front()
                   : Type::none;
  size_t slot = 0;
  for (const std::string& word : words) {
    for (;; ++slot) {
      if (slot == row.slots.size()) return false;
      if (fits(row.slots[slot], *row.info, word, match)) {
        if (!row.slots[slot].repeat) ++slot;
        break;
      }
      if (!row.slots[slot].optional) return false;
    }
  }
  for (; slot < row.slots.size(); ++slot)
    if (!row.slots[slot].optional) return false;
  return true;
}

size_t operand_count(const RowInfo& info) {
  size_t count = info.operands.empty() ? 0 : 1;
  for (char c : info.operands) count += c == ',';
  return count;
}

// All words a slot accepts; "" stands for "left out".
std::vector<std::string> words_of(const Slot& slot, const RowInfo& info) {
  std::vector<std::string> words;
  if (slot.optional) words.emplace_back();
  switch (slot.kind) {
    case Slot::Kind::literal: words.emplace_back(slot.text); break;
    case Slot::Kind::word_class:
      for (const Word& w : kWords)
        if (w.word_class == slot.text && (!slot.repeat || words.size() < 3))
          words.emplace_back(w.text);  // of the many hints, two
      break;
    case Slot::Kind::type:
      for (Type t : info.types) words.emplace_back(ptx::type_name(t));
      break;
    case Slot::Kind::type2:
      for (Type t : info.types2) words.emplace_back(ptx::type_name(t));
      break;
  }
  return words;
}

// f(words) for every spelling of the row, one word a slot: an odometer.
template <class F> void for_each_spelling(const Row& row, F f) {
  std::vector<std::vector<std::string>> choices;
  for (const Slot& s : row.slots) choices.push_back(words_of(s, *row.info));
  std::vector<size_t> at(choices.size(), 0);
  std::vector<std::string> words(choices.size());
  for (bool more = true; more;) {
    for (size_t i = 0; i < choices.size(); ++i) words[i] = choices[i][at[i]];
    f(words);
    more = false;
    for (size_t i = 0; i < at.size() && !more; ++i) {
      if (++at[i] < choices[i].size())
        more = true;
      else
        at[i] = 0;
    }
  }
}

}  // namespace

size_t row_count() { return table().rows.size(); }
const RowInfo& row_info(RowId row) { return *table().rows[row].info; }

std::optional<Machine> machine_row(RowId row) {
  if (row < kLaneRows) return std::nullopt;
  return static_cast<Machine>(row - kLaneRows);
}

std::string manual_url(const RowInfo& info) {
  return fmt::format("https://docs.nvidia.com/cuda/parallel-thread-execution/#{}", info.manual);
}

Result<Match> match(const ptx::Instruction& instruction, const std::string& file) {
  auto rows = table().by_opcode.find(instruction.opcode);
  if (rows == table().by_opcode.end()) {
    return Error{fmt::format("instruction '{}' is not supported (no row of the instruction table "
                             "has the opcode '{}'; docs/isa.md lists those that there are, and "
                             "why others are not)",
                             instruction.spelling(), instruction.opcode),
                 file, instruction.line, instruction.column};
  }
  std::optional<Match> other_count;  // fits but for the number of operands: the decoder says so
  for (RowId id : rows->second) {
    Match m;
    m.row = id;
    if (!match_row(table().rows[id], instruction.modifiers, m)) continue;
    if (table().rows[id].info->body != Body::lane ||
        operand_count(*table().rows[id].info) == instruction.operands.size())
      return m;
    if (!other_count) other_count = m;
  }
  if (other_count) return *other_count;
  const RowInfo& nearest = row_info(rows->second.front());
  return Error{
      fmt::format("instruction '{}' is not supported in this form: docs/isa.md lists those "
                  "that are (manual: {})",
                  instruction.spelling(), manual_url(nearest)),
      file, instruction.line, instruction.column};
}

std::vector<std::vector<std::string>> spellings(RowId id) {
  std::vector<std::vector<std::string>> found;
  for_each_spelling(table().rows[id],
                    [&](const std::vector<std::string>& words) { found.push_back(words); });
  return found;
}

std::optional<Match> match_words(RowId row, const std::vector<std::string>& words) {
  std::vector<std::string> present;
  for (const std::string& w : words)
    if (!w.empty()) present.push_back(w);
  Match m;
  m.row = row;
  if (!match_row(table().rows[row], present, m)) return std::nullopt;
  return m;
}

std::vector<std::string> ambiguous_spellings() {
  std::vector<std::string> found;
  for (RowId id = 0; id < table().rows.size(); ++id) {
    const RowInfo& info = *table().rows[id].info;
    const std::vector<RowId>& same_opcode = table().by_opcode.at(info.opcode());
    if (same_opcode.size() == 1) continue;
    for_each_spelling(table().rows[id], [&](const std::vector<std::string>& slots) {
      std::vector<std::string> words;
      for (const std::string& w : slots)
        if (!w.empty()) words.push_back(w);
      for (RowId other : same_opcode) {
        const Row& row = table().rows[other];
        Match m;
        if (other == id || operand_count(*row.info) != operand_count(info) ||
            !match_row(row, words, m))
          continue;
        std::string spelling(info.opcode());
        for (const std::string& w : words) spelling += "." + w;
        found.push_back(spelling);
        return;
      }
    });
  }
  return found;
}

}  // namespace tw::isa
