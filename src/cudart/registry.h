// What the program's start-up code registers: fat binaries, kernels, variables. Nothing is parsed
// or loaded here; a program that never launches pays for the entries of a few tables only.
//
// Start-up code runs before main, from several shared objects, possibly in several threads
// (dlopen): every call takes the mutex. Tested by tests/unit/cudart/api_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tw::cudart {

class Context;
struct Binary;

struct Function {
  const void* host = nullptr;  // the stub whose address the program passes to launches
  std::string name;            // mangled, as in the PTX
  Binary* binary = nullptr;
};

struct Variable {
  const void* host = nullptr;     // its shadow in the host program
  void** managed_slot = nullptr;  // .managed: where the host code finds the address
  std::string name;
  uint64_t bytes = 0;
  Binary* binary = nullptr;
  void* managed_at = nullptr;     // the memory itself, once a device has placed it
  Context* managed_by = nullptr;  // whose memory that is
};

struct Binary {
  const uint8_t* container = nullptr;  // nullptr: the registered wrapper was no fat binary
  std::string text;                    // PTX that the program loaded (cudaLibraryLoadData)
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<const uint8_t*> objects;  // nvcc -rdc=true: one container an object, to be linked
  // Contexts that have loaded it; managed variables stay until the last of them is reset.
  uint32_t loads = 0;
};

class Registry {
 public:
  // `wrapper`: what __cudaRegisterFatBinary gets.
  Binary* add_binary(const void* wrapper);
  Binary* add_library(std::string ptx);
  void remove_binary(Binary* binary);
  // `host`: nullptr for a kernel that only its Function* names.
  Function* add_function(Binary* binary, const void* host, const char* name);
  void add_variable(Binary* binary, const void* host, void** managed_slot, const char* name,
                    uint64_t bytes);

  // `host`: a stub's address or a Function*; nullptr if neither.
  Function* function(const void* host);
  Variable* variable(const void* host);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::unordered_map<const void*, Function*> functions_;  // by stub and by Function*
  std::unordered_map<const void*, Variable*> variables_;
};

}  // namespace tw::cudart
