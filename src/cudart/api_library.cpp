// Libraries: device code that the program loads by itself, from memory or from a file (PTX text, or a fat
// binary with PTX in it), and whose kernels and variables it asks for by name. Each is one more entry of
// the registry, as if start-up code had registered it.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "cudart/api.h"
#include "cudart/diagnose.h"
#include "cudart/fatbin.h"
#include "cudart/launch.h"
#include "ptx/parser.h"

namespace tw::cudart {
namespace {

struct Library {
  std::string code;  // what was loaded: PTX, as an H200 looks at it at first use only
  bool read = false;
  cudaError_t error = cudaSuccess;  // of reading it
  Binary* binary = nullptr;
  std::vector<std::string> kernels;                      // in the order of the text
  std::unordered_map<std::string, Function*> functions;  // those that were asked for
};
struct Libraries {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Library>> libraries;
  static Libraries& get() {
    static Libraries* libraries = new Libraries;
    return *libraries;
  }
};

// The PTX in what the program gave: a fat binary (its wrapper or the container itself), or text that
// ends with a NUL. `size`: of a file, which may claim anything; 0 for memory, whose size nobody knows.
cudaError_t text_of(const void* code, size_t size, uint32_t arch, std::string& text) {
  uint32_t magic = 0;
  std::memcpy(&magic, code, 4);
  const auto* container = static_cast<const uint8_t*>(code);
  if (magic == kFatbinWrapperMagic) {
    if (size != 0) return cudaErrorInvalidKernelImage;  // its pointer means nothing in a file
    std::memcpy(&container, static_cast<const uint8_t*>(code) + 8, sizeof container);
    std::memcpy(&magic, container, 4);
  }
  constexpr uint32_t kElfMagic = 0x464c457f;
  if (magic == kElfMagic) {
    complain_once("cubin",
                  "cudaLibraryLoadData: machine code (a cubin) cannot be run; load PTX or a fat "
                  "binary that holds PTX");
    return cudaErrorNoKernelImageForDevice;
  }
  if (magic != kFatbinContainerMagic) {
    text = static_cast<const char*>(code);
    return cudaSuccess;
  }
  const Result<uint64_t> bytes = fatbin_bytes(container);
  if (!bytes) return cudaErrorInvalidKernelImage;
  if (size != 0 && *bytes > size) return cudaErrorInvalidKernelImage;
  const Result<std::vector<FatbinEntry>> entries = parse_fatbin({container, size_t(*bytes)});
  if (!entries) return cudaErrorInvalidKernelImage;
  const FatbinEntry* entry = choose_ptx(*entries, arch);
  if (entry == nullptr) return cudaErrorNoKernelImageForDevice;
  Result<std::string> ptx = fatbin_text(*entry);
  if (!ptx) return cudaErrorInvalidKernelImage;
  text = std::move(*ptx);
  return cudaSuccess;
}

cudaError_t load(cudaLibrary_t* out, const void* code, size_t size = 0) {
  return with_context([&](Context& context) -> cudaError_t {
    if (out == nullptr || code == nullptr) return cudaErrorInvalidValue;
    std::string text;
    if (const cudaError_t error = text_of(
            code, size, context.spec().compute_major * 10 + context.spec().compute_minor, text);
        error != cudaSuccess)
      return error;
    auto library = std::make_unique<Library>();
    library->code = std::move(text);
    *out = reinterpret_cast<cudaLibrary_t>(library.get());
    Libraries& all = Libraries::get();
    const std::lock_guard lock(all.mutex);
    all.libraries[library.get()] = std::move(library);
    return cudaSuccess;
  });
}

cudaError_t read(Library& library) {
  const Result<ptx::Module> module = ptx::parse(library.code, "library.ptx");
  if (!module) {
    complain(module.error().to_string());
    return cudaErrorInvalidPtx;
  }
  for (const ptx::Function& function : module->functions)
    if (function.entry && function.has_body) library.kernels.push_back(function.name);
  library.binary = Runtime::get().registry.add_library(std::move(library.code));
  return cudaSuccess;
}

// body(Context&, Library&)
template <class Body> cudaError_t with_library(cudaLibrary_t handle, Body&& body) {
  return with_context([&](Context& context) -> cudaError_t {
    Libraries& all = Libraries::get();
    const std::lock_guard lock(all.mutex);
    const auto place = all.libraries.find(handle);
    if (place == all.libraries.end()) return cudaErrorInvalidResourceHandle;
    Library& library = *place->second;
    if (!library.read) library.error = read(library);
    library.read = true;
    return library.error == cudaSuccess ? body(context, library) : library.error;
  });
}

cudaKernel_t kernel_of(Library& library, const std::string& name) {
  Function*& function = library.functions[name];
  if (function == nullptr) {
    function = Runtime::get().registry.add_function(library.binary, nullptr, name.c_str());
  }
  return reinterpret_cast<cudaKernel_t>(function);
}

cudaError_t find_variable(Context& context, Library& library, const char* name, bool managed,
                          void** address, size_t* bytes) {
  if (name == nullptr) return cudaErrorInvalidValue;
  Variable variable;
  variable.name = name;
  variable.binary = library.binary;
  emu::Allocation allocation;
  const cudaError_t error = context.variable(variable, allocation);
  if (error == cudaErrorInvalidSymbol) return cudaErrorSymbolNotFound;
  if (error != cudaSuccess) return error;
  if (managed != (allocation.kind == emu::AllocationKind::managed)) return cudaErrorSymbolNotFound;
  if (address) *address = reinterpret_cast<void*>(allocation.address);
  if (bytes) *bytes = allocation.bytes;
  return cudaSuccess;
}

}  // namespace
}  // namespace tw::cudart

using namespace tw::cudart;

// The options are of NVIDIA's compiler.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* out, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  return load(out, code);
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* out, const char* path, cudaJitOption*, void**,
                                    unsigned, cudaLibraryOption*, void**, unsigned) {
  if (path == nullptr) return note(cudaErrorInvalidValue);
  std::ifstream file(path, std::ios::binary);
  if (!file) return note(cudaErrorFileNotFound);
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::string code = bytes.str();
  code.resize(std::max<size_t>(code.size(), 64));  // what looks for a header finds bytes
  return load(out, code.c_str(), code.size());
}
cudaError_t cudaLibraryUnload(cudaLibrary_t handle) {
  return guarded([&]() -> cudaError_t {
    Libraries& all = Libraries::get();
    const std::lock_guard lock(all.mutex);
    const auto place = all.libraries.find(handle);
    if (place == all.libraries.end()) return cudaErrorInvalidResourceHandle;
    if (place->second->binary) Runtime::get().registry.remove_binary(place->second->binary);
    all.libraries.erase(place);
    return cudaSuccess;
  });
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* out, cudaLibrary_t handle, const char* name) {
  return with_library(handle, [&](Context&, Library& library) -> cudaError_t {
    if (out == nullptr || name == nullptr) return cudaErrorInvalidValue;
    for (const std::string& kernel : library.kernels)
      if (kernel == name) {
        *out = kernel_of(library, kernel);
        return cudaSuccess;
      }
    return cudaErrorSymbolNotFound;
  });
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t handle) {
  return with_library(handle, [&](Context&, Library& library) {
    return count ? (*count = unsigned(library.kernels.size()), cudaSuccess) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                        cudaLibrary_t handle) {
  return with_library(handle, [&](Context&, Library& library) -> cudaError_t {
    if (kernels == nullptr || count == 0) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count && i < library.kernels.size(); i++)
      kernels[i] = kernel_of(library, library.kernels[i]);
    return cudaSuccess;
  });
}
cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t handle,
                                 const char* name) {
  return with_library(handle, [&](Context& context, Library& library) {
    return find_variable(context, library, name, false, address, bytes);
  });
}
cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t handle,
                                  const char* name) {
  return with_library(handle, [&](Context& context, Library& library) {
    return find_variable(context, library, name, true, address, bytes);
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device) {
  if (device < 0 || device >= Runtime::get().device_count()) return note(cudaErrorInvalidDevice);
  int& current = Runtime::get().current_ordinal();
  const int was = current;
  current = device;
  const cudaError_t error = cudaFuncSetAttribute(kernel, attribute, value);
  current = was;
  return error;
}
