#include "cudart/static_runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "cudart/program_file.h"

namespace tw::cudart {
namespace {

// A jump to any address that spoils no register which holds an argument.
#if defined(__x86_64__)
constexpr size_t kJumpBytes = 13;
std::array<uint8_t, kJumpBytes> jump_to(uint64_t target) {
  std::array<uint8_t, kJumpBytes> code = {
      0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};  // mov r11, imm64; jmp r11
  std::memcpy(code.data() + 2, &target, sizeof target);
  return code;
}
#elif defined(__aarch64__)
constexpr size_t kJumpBytes = 16;
std::array<uint8_t, kJumpBytes> jump_to(uint64_t target) {
  const uint32_t load = 0x58000050, branch = 0xd61f0200;  // ldr x16, . + 8; br x16
  std::array<uint8_t, kJumpBytes> code;
  std::memcpy(code.data(), &load, 4);
  std::memcpy(code.data() + 4, &branch, 4);
  std::memcpy(code.data() + 8, &target, 8);
  return code;
}
#else
#error "static_runtime.cpp: write this processor's jump"
#endif

Result<ProgramFile> own_program() {
  const char* path = "/proc/self/exe";
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) {
    if (file >= 0) close(file);
    return Error{.message = "cannot be read", .file = path};
  }
  const size_t bytes = size_t(status.st_size);
  void* image = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (image == MAP_FAILED) return Error{.message = "cannot be mapped", .file = path};
  Result<ProgramFile> program = read_program({static_cast<const uint8_t*>(image), bytes}, path);
  munmap(image, bytes);
  return program;
}

// The program's load address, and whether a range of addresses lies in its code as loaded.
struct LoadedProgram {
  uint64_t base = 0;
  std::vector<std::pair<uint64_t, uint64_t>> code;  // [first, last)

  static LoadedProgram find() {
    LoadedProgram program;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {  // the program comes first
          auto& p = *static_cast<LoadedProgram*>(data);
          p.base = info->dlpi_addr;
          for (int i = 0; i < info->dlpi_phnum; i++) {
            const auto& segment = info->dlpi_phdr[i];
            const uint64_t first = p.base + segment.p_vaddr;
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
              p.code.emplace_back(first, first + segment.p_memsz);
          }
          return 1;
        },
        &program);
    return program;
  }
  bool holds(uint64_t address, uint64_t bytes) const {
    for (const auto& [first, last] : code)
      if (address >= first && address < last && bytes <= last - address) return true;
    return false;
  }
};

bool write_code(uint64_t address, const std::array<uint8_t, kJumpBytes>& code) {
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  const uint64_t first = address / page * page;
  const uint64_t bytes = (address + kJumpBytes + page - 1) / page * page - first;
  void* pages = reinterpret_cast<void*>(first);
  if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  char* place = reinterpret_cast<char*>(address);
  std::memcpy(place, code.data(), code.size());
  __builtin___clear_cache(place, place + code.size());
  return mprotect(pages, bytes, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

Result<int> take_over_static_runtime(void* library, int abi) {
  const Result<ProgramFile> program = own_program();
  if (!program) return 0;  // no ELF program that we can read: then it has no runtime to take over
  if (program->runtime_entries.empty()) return 0;
  if (program->static_abi != abi)
    return Error{.message = fmt::format("the CUDA runtime linked into this program is not that of "
                                        "CUDA {}, which Tilewright put in front of it",
                                        abi)};
  const LoadedProgram loaded = LoadedProgram::find();
  int count = 0;
  for (const RuntimeEntry& entry : program->runtime_entries) {
    void* ours = dlsym(library, entry.name.c_str());
    if (ours == nullptr) continue;  // a function of the program's own
    const uint64_t address = loaded.base + entry.address;
    if (entry.room < kJumpBytes || !loaded.holds(address, kJumpBytes))
      return Error{.message = fmt::format("{} in this program has no room for a jump", entry.name)};
    if (!write_code(address, jump_to(reinterpret_cast<uint64_t>(ours))))
      return Error{
          .message = fmt::format("the program's code cannot be changed: {}", std::strerror(errno))};
    count++;
  }
  return count;
}

}  // namespace tw::cudart
