#include "sass/cubin.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "ptx/parser.h"

namespace tw::sass {
namespace {

constexpr uint32_t kInstructionBytes = 16;
constexpr uint32_t kMaxUnits = 1 << 16;

// A bounded view of the file; a read outside sets `bad` and yields zero.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, size_t at) : bytes_(bytes), at_(at) {}

  template <class T> T take() {
    T value{};
    if (bytes_.size() < sizeof(T) || at_ > bytes_.size() - sizeof(T)) {
      bad = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
      const uint8_t byte = take<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80) || bad) return value;
    }
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0;;) {
      const uint8_t byte = take<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80 && !bad) continue;
      if (byte & 0x40 && shift < 64) value |= ~uint64_t(0) << shift;
      return int64_t(value);
    }
  }
  size_t at() const { return at_; }
  void seek(size_t at) { at_ = at; }
  bool bad = false;

 private:
  std::span<const uint8_t> bytes_;
  size_t at_;
};

struct Section {
  std::string_view name;
  uint32_t type = 0, info = 0;
  std::span<const uint8_t> bytes;
};

constexpr uint32_t kNoBits = 8;

std::string_view text_at(std::span<const uint8_t> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* begin = reinterpret_cast<const char*>(table.data()) + offset;
  return {begin, strnlen(begin, table.size() - offset)};
}

struct Elf {
  std::vector<Section> sections;
  const Section* find(std::string_view name) const {
    for (const Section& s : sections)
      if (s.name == name) return &s;
    return nullptr;
  }
};

std::optional<Elf> read_elf(std::span<const uint8_t> image) {
  if (image.size() < 64 || std::memcmp(image.data(),
                                       "\x7f"
                                       "ELF\x02\x01",
                                       6) != 0)
    return std::nullopt;
  Reader header(image, 0x28);
  const uint64_t table = header.take<uint64_t>();
  header.seek(0x3a);
  const uint16_t entry = header.take<uint16_t>(), count = header.take<uint16_t>(),
                 names = header.take<uint16_t>();
  if (entry != 64 || names >= count || table > image.size() ||
      uint64_t(count) * 64 > image.size() - table)
    return std::nullopt;
  Elf elf;
  std::vector<uint32_t> name_offsets;
  for (uint32_t i = 0; i < count; ++i) {
    Reader r(image, table + 64ull * i);
    name_offsets.push_back(r.take<uint32_t>());
    Section s;
    s.type = r.take<uint32_t>();
    r.seek(table + 64ull * i + 24);
    const uint64_t offset = r.take<uint64_t>(), size = r.take<uint64_t>();
    r.take<uint32_t>();
    s.info = r.take<uint32_t>();
    if (s.type != kNoBits && size != 0) {
      if (offset > image.size() || size > image.size() - offset) return std::nullopt;
      s.bytes = image.subspan(offset, size);
    }
    elf.sections.push_back(s);
  }
  for (uint32_t i = 0; i < count; ++i)
    elf.sections[i].name = text_at(elf.sections[names].bytes, name_offsets[i]);
  return elf;
}

// Offset in the line table of a `set address` operand -> the symbol it is relocated to.
std::unordered_map<uint64_t, std::string_view> relocations(const Elf& elf,
                                                           std::string_view section) {
  std::unordered_map<uint64_t, std::string_view> found;
  const Section *rela = elf.find(".rela" + std::string(section)), *symbols = elf.find(".symtab"),
                *strings = elf.find(".strtab");
  if (!rela || !symbols || !strings) return found;
  for (size_t at = 0; at + 24 <= rela->bytes.size(); at += 24) {
    Reader r(rela->bytes, at);
    const uint64_t offset = r.take<uint64_t>(), info = r.take<uint64_t>();
    Reader symbol(symbols->bytes, (info >> 32) * 24);
    const uint32_t name = symbol.take<uint32_t>();
    if (!symbol.bad) found[offset] = text_at(strings->bytes, name);
  }
  return found;
}

// Where the code of a kernel holds subroutines that ptxas put there ("$__internal_0_$...").
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
Ranges subroutines(const Elf& elf, const Section& code) {
  Ranges ranges;
  const Section *symbols = elf.find(".symtab"), *strings = elf.find(".strtab");
  if (!symbols || !strings) return ranges;
  for (size_t at = 0; at + 24 <= symbols->bytes.size(); at += 24) {
    Reader r(symbols->bytes, at);
    const std::string_view name = text_at(strings->bytes, r.take<uint32_t>());
    r.take<uint16_t>();
    const uint16_t section = r.take<uint16_t>();
    const uint64_t begin = r.take<uint64_t>(), size = r.take<uint64_t>();
    if (name.starts_with("$") && section < elf.sections.size() && &elf.sections[section] == &code)
      ranges.emplace_back(begin, begin + size);
  }
  return ranges;
}

// Function -> (address -> line of the PTX text), from a DWARF 2 line program.
using Lines = std::map<uint64_t, uint32_t>;
std::optional<std::map<std::string_view, Lines>> line_table(const Elf& elf) {
  constexpr std::string_view kName = ".nv_debug_line_sass";
  const Section* section = elf.find(kName);
  if (!section) return std::nullopt;
  const auto symbols = relocations(elf, kName);
  std::map<std::string_view, Lines> result;
  const std::span<const uint8_t> bytes = section->bytes;
  size_t unit = 0;
  for (uint32_t units = 0; unit + 15 < bytes.size() && units < kMaxUnits; ++units) {
    Reader r(bytes, unit);
    const uint64_t end = unit + 4 + r.take<uint32_t>();
    r.take<uint16_t>();  // version
    const uint32_t header = r.take<uint32_t>();
    const size_t program = r.at() + header;
    const uint8_t step = r.take<uint8_t>();
    r.take<uint8_t>();
    const int8_t line_base = r.take<int8_t>();
    const uint8_t line_range = r.take<uint8_t>(), opcode_base = r.take<uint8_t>();
    if (r.bad || line_range == 0 || opcode_base == 0 || end > bytes.size() || program > end)
      return std::nullopt;
    std::vector<uint8_t> operands(opcode_base, 0);
    for (uint32_t i = 1; i < opcode_base; ++i) operands[i] = r.take<uint8_t>();
    r.seek(program);
    uint64_t address = 0;
    int64_t line = 1;
    std::string_view function;
    const auto add_row = [&] {
      if (!function.empty() && line > 0) result[function][address] = uint32_t(line);
    };
    while (r.at() < end && !r.bad) {
      const uint8_t op = r.take<uint8_t>();
      if (op >= opcode_base) {
        address += uint64_t(op - opcode_base) / line_range * step;
        line += line_base + (op - opcode_base) % line_range;
        add_row();
        continue;
      }
      switch (op) {
        case 0: {
          const uint64_t length = r.uleb();
          const size_t begin = r.at();
          if (length > end - begin) return std::nullopt;
          const uint8_t extended = length ? r.take<uint8_t>() : 0;
          if (extended == 1) {  // end of sequence
            address = 0, line = 1, function = {};
          } else if (extended == 2) {  // set address
            const auto symbol = symbols.find(r.at());
            address = r.take<uint64_t>();
            if (symbol != symbols.end()) function = symbol->second;
          }
          r.seek(begin + length);
          break;
        }
        case 1: add_row(); break;
        case 2: address += r.uleb() * step; break;
        case 3: line += r.sleb(); break;
        case 8: address += uint64_t(255 - opcode_base) / line_range * step; break;
        case 9: address += r.take<uint16_t>(); break;
        default:
          for (uint32_t i = 0; i < operands[op]; ++i) r.uleb();
      }
    }
    if (r.bad) return std::nullopt;
    unit = end;
  }
  return result;
}

uint32_t shared_width(uint64_t high) {
  constexpr uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 16};  // U8 S8 U16 S16 32 64 128
  return kBytes[high >> 9 & 7];
}

// A store has another opcode where a uniform register is part of its address.
constexpr uint64_t kLds = 0x984, kSts = 0x388, kStsUniform = 0x988, kNop = 0x918;
constexpr uint64_t kAtomsPopcInc = 0xf8c;

// The lower nine bits of an opcode; the others say where the operands are.
constexpr uint32_t kMufu = 0x108, kCall = 0x144, kCallAbsolute = 0x143;
constexpr uint32_t kNoFloat = 9;
uint32_t float_op(uint32_t opcode) {  // index of kFloatOps
  switch (opcode) {
    case 0x023: return 0;
    case 0x021: return 1;
    case 0x020: return 2;
    case 0x02b: return 3;
    case 0x029: return 4;
    case 0x028: return 5;
    case 0x031:            // HFMA2
    case 0x035: return 6;  // HFMA2.MMA
    case 0x030: return 7;
    case 0x032: return 8;
    default: return kNoFloat;
  }
}

// A machine instruction that matters for FloatCode.
struct FloatInstruction {
  uint32_t opcode = 0, guard = 0;
};

// Instructions whose guard is that of no special function run for some operands only (the scaling
// of denormals). Where there is none, a guard is the program's own.
FloatCode float_code(const std::vector<FloatInstruction>& instructions) {
  constexpr uint32_t kAlways = 7;
  FloatCode code;
  uint32_t guards = 1u << kAlways;
  for (const FloatInstruction& i : instructions)
    if (i.opcode == kMufu) ++code.special, guards |= 1u << i.guard;
  if (code.special == 0) guards = ~0u;
  for (const FloatInstruction& i : instructions) {
    const uint32_t op = float_op(i.opcode);
    if (i.opcode == kCall || i.opcode == kCallAbsolute ||
        (op != kNoFloat && !(guards >> i.guard & 1)))
      code.conditional = true;
    else if (op != kNoFloat)
      ++code.operations[op];
  }
  return code;
}

}  // namespace

Result<std::vector<KernelCode>> read_cubin(std::span<const uint8_t> image,
                                           const std::string& name) {
  const std::optional<Elf> elf = read_elf(image);
  if (!elf)
    return Error{.message = "this is no cubin (64-bit little-endian ELF), or a damaged one",
                 .file = name};
  const auto lines = line_table(*elf);
  const Section* text = elf->find(".nv_debug_ptx_txt");
  if (!lines || !text)
    return Error{.message = "this cubin cannot be traced to its PTX: compile with ptxas -lineinfo",
                 .file = name};

  std::string ptx(reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size());
  std::replace(ptx.begin(), ptx.end(), '\0', '\n');
  const Result<ptx::Module> module = ptx::parse(ptx, name);
  if (!module) return module.error();

  std::vector<KernelCode> kernels;
  for (const auto& [kernel, table] : *lines) {
    const ptx::Function* function = module->find_function(kernel);
    const Section* code = elf->find(".text." + std::string(kernel));
    if (!function || !code) continue;
    std::unordered_map<uint32_t, uint32_t> instruction_at;  // PTX line -> index
    for (uint32_t i = 0; i < function->instructions.size(); ++i)
      instruction_at[function->instructions[i].line] = i;
    KernelCode k;
    k.name = kernel;
    k.sass_of_ptx.resize(function->instructions.size());
    const Ranges inner = subroutines(*elf, *code);
    std::vector<std::vector<FloatInstruction>> floats(function->instructions.size());
    // Behind the last jump, which leads to itself, lies padding.
    size_t bytes = code->bytes.size() / kInstructionBytes * kInstructionBytes;
    const auto opcode_at = [&](size_t at) {
      return Reader(code->bytes, at).take<uint64_t>() & 0xfff;
    };
    while (bytes >= kInstructionBytes && opcode_at(bytes - kInstructionBytes) == kNop)
      bytes -= kInstructionBytes;
    k.instructions = uint32_t(bytes / kInstructionBytes);
    for (size_t at = 0; at < bytes; at += kInstructionBytes) {
      auto row = table.upper_bound(at);
      if (row == table.begin()) continue;
      const auto instruction = instruction_at.find(std::prev(row)->second);
      if (instruction == instruction_at.end()) continue;
      ++k.sass_of_ptx[instruction->second];
      Reader r(code->bytes, at);
      const uint64_t low = r.take<uint64_t>(), high = r.take<uint64_t>();
      const uint64_t operation = low & 0xfff;
      if (operation == kLds || operation == kSts || operation == kStsUniform)
        k.shared.push_back({.store = operation != kLds,
                            .width = shared_width(high),
                            .instruction = instruction->second});
      const uint32_t opcode = low & 0x1ff;
      if ((float_op(opcode) != kNoFloat || opcode == kMufu || opcode == kCall ||
           opcode == kCallAbsolute) &&
          std::none_of(inner.begin(), inner.end(),
                       [&](const auto& range) { return at >= range.first && at < range.second; }))
        floats[instruction->second].push_back({opcode, uint32_t(low >> 12 & 15)});
      if (operation == kAtomsPopcInc) k.counted_increments.push_back(instruction->second);
    }
    for (const auto& instructions : floats) k.floats.push_back(float_code(instructions));
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace tw::sass
