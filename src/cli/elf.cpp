#include "cli/elf.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tw::cli {
namespace {

class Reader {
 public:
  Reader(std::span<const uint8_t> image, const std::string& path) : image_(image), path_(path) {}

  template <class T> bool read(uint64_t offset, T& value) const {
    if (offset > image_.size() || sizeof(T) > image_.size() - offset) return false;
    std::memcpy(&value, image_.data() + offset, sizeof(T));
    return true;
  }
  // A NUL-terminated string inside [begin, begin + bytes).
  bool text(uint64_t begin, uint64_t bytes, uint64_t index, std::string& value) const {
    if (begin > image_.size() || bytes > image_.size() - begin || index >= bytes) return false;
    const char* first = reinterpret_cast<const char*>(image_.data() + begin + index);
    const size_t length = strnlen(first, bytes - index);
    if (length == bytes - index) return false;
    value.assign(first, length);
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

// Libraries of NVIDIA's that a program may need and that we do not replace.
constexpr const char* kOtherLibraries[] = {
    "libcublas", "libcufft",  "libcusolver",  "libcusparse", "libcurand",   "libcudnn",
    "libnccl",   "libnvrtc",  "libnvjpeg",    "libnpp",      "libcutensor", "libcuda.",
    "libnvml",   "libnvidia", "libnvJitLink", "libcufile",   "libnvgraph",  "libcupti"};

std::string rebuild(const std::string& path) {
  return fmt::format("rebuild it with\n    nvcc -cudart shared -o {} ...", path);
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

  // Segments: the dynamic section, and where virtual addresses lie in the file.
  struct Load {
    uint64_t address, offset, bytes;
  };
  std::vector<Load> loads;
  uint64_t dynamic_offset = 0, dynamic_bytes = 0;
  for (uint32_t i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr segment;
    if (head.e_phoff > image.size() ||
        !reader.read(head.e_phoff + uint64_t(i) * sizeof segment, segment))
      return reader.damaged("a program header");
    if (segment.p_type == PT_LOAD)
      loads.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
    if (segment.p_type == PT_DYNAMIC) {
      program.dynamic = true;
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
    std::string text;
    bool found = false;
    for (const Load& load : loads)
      if (strings_address >= load.address && strings_address - load.address < load.bytes)
        found =
            reader.text(load.offset + (strings_address - load.address), strings_bytes, name, text);
    if (!found) return reader.damaged("the name of a needed library");
    program.needed.push_back(text);
  }

  // Sections: may be stripped away, then device code is simply not seen.
  Elf64_Shdr section_names;
  if (head.e_shoff != 0 && head.e_shstrndx < head.e_shnum) {
    if (head.e_shoff > image.size() ||
        !reader.read(head.e_shoff + uint64_t(head.e_shstrndx) * sizeof section_names,
                     section_names))
      return reader.damaged("a section header");
    for (uint32_t i = 0; i < head.e_shnum; i++) {
      Elf64_Shdr section;
      std::string name;
      if (!reader.read(head.e_shoff + uint64_t(i) * sizeof section, section))
        return reader.damaged("a section header");
      if (!reader.text(section_names.sh_offset, section_names.sh_size, section.sh_name, name))
        return reader.damaged("a section's name");
      if (name == ".nv_fatbin" || name == "__nv_relfatbin") program.device_code = true;
      if (section.sh_type == SHT_SYMTAB) program.has_symbols = true;
    }
  }
  return program;
}

Result<ProgramFile> read_program_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return Error{.message = "no such file", .file = path};
  if (!S_ISREG(status.st_mode)) return Error{.message = "this is no regular file", .file = path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{.message = "cannot be read", .file = path};
  const std::vector<uint8_t> image{std::istreambuf_iterator<char>(file), {}};
  return read_program(image, path);
}

Result<std::string> choose_runtime(const ProgramFile& program, const std::string& path) {
  std::string runtime, other_runtime;
  for (const std::string& name : program.needed) {
    for (const char* other : kOtherLibraries)
      if (name.starts_with(other))
        return Error{
            .message = fmt::format("this program needs {}, which Tilewright does not replace; only "
                                   "programs that use the CUDA runtime alone can be run",
                                   name),
            .file = path};
    if (name == "libcudart.so.12" || name == "libcudart.so.13")
      runtime = name;
    else if (name.starts_with("libcudart"))
      other_runtime = name;
  }
  if (!runtime.empty()) return runtime;
  if (!other_runtime.empty())
    return Error{
        .message = fmt::format("this program was built for {}; CUDA 12 or 13 is needed: {}",
                               other_runtime, rebuild(path)),
        .file = path};
  if (program.device_code)
    return Error{.message =
                     "this program is linked with the static CUDA runtime, whose calls cannot be "
                     "taken over: " +
                     rebuild(path),
                 .file = path};
  return Error{.message =
                   "this program does not use the CUDA runtime (it needs no libcudart.so); a CUDA "
                   "program must be linked with the shared one: " +
                   rebuild(path),
               .file = path};
}

}  // namespace tw::cli
