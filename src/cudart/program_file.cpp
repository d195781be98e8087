#include "cudart/program_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tw::cudart {
namespace {

struct Segment {  // PT_LOAD: where virtual addresses lie in the file
  uint64_t address, offset, bytes;
  bool executable;
};

class Reader {
 public:
  Reader(std::span<const uint8_t> image, const std::string& path) : image_(image), path_(path) {}

  template <class T> bool read(uint64_t offset, T& value) const {
    if (offset > image_.size() || sizeof(T) > image_.size() - offset) return false;
    std::memcpy(&value, image_.data() + offset, sizeof(T));
    return true;
  }
  // A NUL-terminated string inside [begin, begin + bytes).
  bool text(uint64_t begin, uint64_t bytes, uint64_t index, std::string_view& value) const {
    if (begin > image_.size() || bytes > image_.size() - begin || index >= bytes) return false;
    const char* first = reinterpret_cast<const char*>(image_.data() + begin + index);
    const size_t length = strnlen(first, bytes - index);
    if (length == bytes - index) return false;
    value = {first, length};
    return true;
  }
  Error damaged(const char* what) const {
    return Error{.message = fmt::format("damaged program file: {} lies outside the file", what),
                 .file = path_};
  }

 private:
  std::span<const uint8_t> image_;
  const std::string& path_;
};

bool names_runtime(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("__cuda");
}

// The runtime's functions among the symbols of `table`, whose names lie in `strings`.
bool read_runtime_entries(const Reader& reader, const Elf64_Shdr& table, const Elf64_Shdr& strings,
                          const std::vector<Segment>& segments, ProgramFile& program) {
  std::vector<uint64_t> functions;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::string_view name;
    if (at > UINT64_MAX - table.sh_offset || !reader.read(table.sh_offset + at, symbol))
      return false;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    functions.push_back(symbol.st_value);
    if (!reader.text(strings.sh_offset, strings.sh_size, symbol.st_name, name)) return false;
    if (names_runtime(name))
      program.runtime_entries.push_back({std::string(name), symbol.st_value});
  }
  std::sort(functions.begin(), functions.end());
  bool registers = false;
  for (RuntimeEntry& entry : program.runtime_entries) {
    for (const Segment& segment : segments)
      if (segment.executable && entry.address >= segment.address &&
          entry.address - segment.address < segment.bytes)
        entry.room = segment.address + segment.bytes - entry.address;
    const auto next = std::upper_bound(functions.begin(), functions.end(), entry.address);
    if (next != functions.end()) entry.room = std::min(entry.room, *next - entry.address);
    // What only one of the two has: CUDA 12 renamed the call whose struct grew, 13 added a log.
    if (entry.name == "cudaGetDeviceProperties_v2") program.static_abi = 12;
    if (entry.name == "cudaLogsCurrent") program.static_abi = 13;
    registers |= entry.name == "__cudaRegisterFatBinary";
  }
  // A program may have functions of its own whose names begin so: that is no runtime.
  if (!registers) {
    program.runtime_entries.clear();
    program.static_abi = 0;
  }
  return true;
}

}  // namespace

Result<ProgramFile> read_program(std::span<const uint8_t> image, const std::string& path) {
  const Reader reader(image, path);
  Elf64_Ehdr head;
  if (!reader.read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return Error{.message = "this is neither a CUDA source (.cu) nor an ELF program", .file = path};
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
    return Error{.message = "only 64-bit little-endian programs can be run", .file = path};
  ProgramFile program;

  std::vector<Segment> segments;
  uint64_t dynamic_offset = 0, dynamic_bytes = 0;
  for (uint32_t i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr segment;
    if (head.e_phoff > image.size() ||
        !reader.read(head.e_phoff + uint64_t(i) * sizeof segment, segment))
      return reader.damaged("a program header");
    if (segment.p_type == PT_LOAD)
      segments.push_back(
          {segment.p_vaddr, segment.p_offset, segment.p_filesz, (segment.p_flags & PF_X) != 0});
    if (segment.p_type == PT_INTERP) program.dynamic = true;
    if (segment.p_type == PT_DYNAMIC) {
      dynamic_offset = segment.p_offset;
      dynamic_bytes = segment.p_filesz;
    }
  }
  uint64_t strings_address = 0, strings_bytes = 0;
  std::vector<uint64_t> names;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_bytes; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (dynamic_offset > image.size() || !reader.read(dynamic_offset + at, entry))
      return reader.damaged("the dynamic section");
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings_address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
  }
  for (const uint64_t name : names) {
    std::string_view text;
    bool found = false;
    for (const Segment& segment : segments)
      if (strings_address >= segment.address && strings_address - segment.address < segment.bytes)
        found = reader.text(segment.offset + (strings_address - segment.address), strings_bytes,
                            name, text);
    if (!found) return reader.damaged("the name of a needed library");
    program.needed.emplace_back(text);
  }

  // Sections: may be stripped away, then device code is simply not seen.
  Elf64_Shdr section_names;
  if (head.e_shoff == 0 || head.e_shstrndx >= head.e_shnum) return program;
  const auto section_header = [&](uint32_t i, Elf64_Shdr& section) {
    return head.e_shoff <= image.size() &&
           reader.read(head.e_shoff + uint64_t(i) * sizeof section, section);
  };
  if (!section_header(head.e_shstrndx, section_names)) return reader.damaged("a section header");
  for (uint32_t i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr section, strings;
    std::string_view name;
    if (!section_header(i, section)) return reader.damaged("a section header");
    if (!reader.text(section_names.sh_offset, section_names.sh_size, section.sh_name, name))
      return reader.damaged("a section's name");
    if (name == ".nv_fatbin" || name == "__nv_relfatbin") program.device_code = true;
    if (section.sh_type != SHT_SYMTAB || program.has_symbols) continue;
    program.has_symbols = true;
    if (section.sh_link >= head.e_shnum || !section_header(section.sh_link, strings) ||
        !read_runtime_entries(reader, section, strings, segments, program))
      return reader.damaged("the symbol table");
  }
  return program;
}

Result<ProgramFile> read_program_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return Error{.message = "no such file", .file = path};
  if (!S_ISREG(status.st_mode)) return Error{.message = "this is no regular file", .file = path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{.message = "cannot be read", .file = path};
  // Something else may be of any size: look before reading it whole.
  std::vector<uint8_t> image(SELFMAG);
  file.read(reinterpret_cast<char*>(image.data()), SELFMAG);
  if (file && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0)
    image.insert(image.end(), std::istreambuf_iterator<char>(file), {});
  return read_program(image, path);
}

}  // namespace tw::cudart
