#include "observe/checkers/host_stack.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "report/findings.h"

namespace tw::observe {
namespace {

constexpr int kMaxFrames = 48;

// The start of the object (library or program) that holds an address; nullptr: none.
const void* object_of(uint64_t address) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(address), &info) != 0 ? info.dli_fbase : nullptr;
}

// DWARF of everything loaded in this process. Reports modules again when an address is new
// (dlopen).
class Symbols {
 public:
  static Symbols& get() {
    static Symbols* symbols = new Symbols;  // findings may come until the very end
    return *symbols;
  }

  // The functions at an address, innermost first: inlined ones have entries of their own.
  std::vector<report::HostFrame> frames(uint64_t address) {
    std::lock_guard lock(mutex_);
    auto [it, fresh] = known_.try_emplace(address);
    if (fresh) it->second = look_up(address);
    return it->second;
  }

 private:
  Symbols() {
    callbacks_.find_elf = dwfl_linux_proc_find_elf;
    callbacks_.find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*,
                                   const char*, GElf_Word, char**) { return -1; };
    dwfl_ = dwfl_begin(&callbacks_);
    report_modules();
  }

  void report_modules() {
    if (dwfl_ == nullptr) return;
    dwfl_report_begin_add(dwfl_);
    dwfl_linux_proc_report(dwfl_, getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }

  static std::string name_of(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (unsigned which : {unsigned(DW_AT_linkage_name), unsigned(DW_AT_name)})
      if (const char* name = dwarf_formstring(dwarf_attr_integrate(die, which, &attribute)))
        return report::demangle(name);
    return "";
  }

  std::vector<report::HostFrame> look_up(uint64_t address) {
    std::vector<report::HostFrame> out;
    if (dwfl_ == nullptr) return out;
    const Dwarf_Addr pc = address - 1;  // the call, not what follows it
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, pc);
    if (module == nullptr) {
      report_modules();
      module = dwfl_addrmodule(dwfl_, pc);
    }
    if (module == nullptr) return out;
    report::HostFrame frame;
    if (const char* name = dwfl_module_addrname(module, pc))
      frame.function = report::demangle(name);
    if (Dwfl_Line* line = dwfl_module_getsrc(module, pc)) {
      int number = 0;
      if (const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr))
        frame.file = file, frame.line = uint32_t(number);
    }
    if (frame.file.empty()) {
      const char* path = nullptr;
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &path, nullptr);
      if (path != nullptr) frame.file = path;
    }
    // Functions inlined here: each tells where it was called.
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, pc, &bias);
    Dwarf_Die* scopes = nullptr;
    const int n = unit != nullptr ? dwarf_getscopes(unit, pc - bias, &scopes) : 0;
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    if (n > 0) dwarf_getsrcfiles(unit, &files, &file_count);
    for (int i = 0; i < n; ++i) {
      if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
      report::HostFrame inner = frame;
      if (std::string name = name_of(&scopes[i]); !name.empty()) inner.function = std::move(name);
      out.push_back(inner);
      Dwarf_Attribute attribute;
      Dwarf_Word file = 0, line = 0;
      if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) == 0)
        frame.line = uint32_t(line);
      if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) == 0)
        if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr)) frame.file = name;
    }
    std::free(scopes);
    out.push_back(frame);
    return out;
  }

  std::mutex mutex_;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  std::map<uint64_t, std::vector<report::HostFrame>> known_;
};

bool part_of(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

// Frames that say nothing about the program: inline wrappers of the toolkit and the C++ library,
// nvcc's stubs, the start-up code.
bool foreign(const report::HostFrame& f) {
  if (f.function.starts_with("__device_stub__") || f.function.starts_with("_start") ||
      f.function.starts_with("__libc_start") || f.function.starts_with("__wrapper__") ||
      f.function.starts_with("__cudaLaunchKernel_helper"))
    return true;
  if (part_of(f.file, "tmpxft_") || part_of(f.file, ".stub.c") || part_of(f.file, "/crt/") ||
      part_of(f.file, "cuda_runtime.h") || part_of(f.file, "/include/c++/"))
    return true;
  if (f.line == 0 && (part_of(f.file, "/libc.so") || part_of(f.file, "/libc-") ||
                      part_of(f.file, "libpthread") || part_of(f.file, "libstdc++")))
    return true;
  return f.function.empty() && f.line == 0;
}

bool launch_stub(const report::HostFrame& f) {
  return part_of(f.function, "__device_stub__") || part_of(f.file, "cudafe1.stub.c");
}

}  // namespace

HostStackPtr host_stack(uint64_t fault) {
  static const void* own = object_of(reinterpret_cast<uint64_t>(&host_site));
  void* frames[kMaxFrames];
  const int n = backtrace(frames, kMaxFrames);
  auto stack = std::make_shared<HostStack>();
  int first = 0;
  if (fault != 0) {
    while (first < n && reinterpret_cast<uint64_t>(frames[first]) != fault) ++first;
    if (first == n) {  // not unwound: the instruction alone
      stack->calls.push_back(fault + 1);
      return stack;
    }
    stack->calls.push_back(fault + 1);
    ++first;
  } else {
    // The last frame of our own library is the function that the program called.
    while (first < n && object_of(reinterpret_cast<uint64_t>(frames[first])) == own) ++first;
    if (first > 0 && first < n) {
      Dl_info info{};
      if (dladdr(static_cast<char*>(frames[first - 1]) - 1, &info) != 0 &&
          info.dli_sname != nullptr)
        stack->function = info.dli_sname;
    }
    if (first == n) first = 0;  // linked into the program
  }
  for (; first < n; ++first) stack->calls.push_back(reinterpret_cast<uint64_t>(frames[first]));
  return stack;
}

report::FindingSite host_site(const HostStack& stack, const char* role) {
  report::FindingSite site;
  site.role = role;
  site.host = true;
  std::string name = stack.function;
  if (name.starts_with("__cuda")) name.erase(0, 2);
  for (const char* suffix : {"_ptsz", "_ptds"})
    if (name.ends_with(suffix)) name.resize(name.size() - std::strlen(suffix));
  site.instruction = std::move(name);
  std::vector<report::HostFrame> all;
  for (uint64_t address : stack.calls) {
    bool done = false;
    for (report::HostFrame& f : Symbols::get().frames(address)) {
      done = done || f.function == "main";
      all.push_back(std::move(f));
    }
    if (done) break;
  }
  // A launch comes by nvcc's stub and the host function that has the kernel's name.
  for (size_t i = 0; i < all.size(); ++i)
    if (!foreign(all[i]) && (i == 0 || !launch_stub(all[i - 1])))
      site.stack.push_back(std::move(all[i]));
  for (const report::HostFrame& f : site.stack) {
    if (f.line == 0) continue;
    site.file = f.file, site.line = f.line;
    break;
  }
  if (site.line == 0 && !site.stack.empty()) site.file = site.stack.front().file;
  return site;
}

}  // namespace tw::observe
