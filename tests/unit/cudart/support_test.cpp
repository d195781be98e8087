// The backend and the "program" behind the API tests: see device_double.h.
#include <gtest/gtest.h>

#include "cudart/fatbin.h"
#include "cudart/runtime.h"
#include "device_double.h"
#include "model/device_spec.h"

TW_CUDA_EXPORT void** __cudaRegisterFatBinary(void* wrapper);
TW_CUDA_EXPORT void __cudaRegisterFatBinaryEnd(void** handle);
TW_CUDA_EXPORT void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name,
                                           int, uint3*, uint3*, dim3*, dim3*, int*);
TW_CUDA_EXPORT void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                      size_t bytes, int, int);
TW_CUDA_EXPORT void __cudaRegisterManagedVar(void** handle, void** slot, char*, const char* name,
                                             int, size_t bytes, int, int);

// A container with kernels.ptx as its one entry, in a loaded segment as in a real program.
asm(R"(
.section .rodata
.balign 8
tw_test_fatbin:
  .long 0xba55ed50
  .short 1, 16
  .quad tw_test_fatbin_end - tw_test_entry
tw_test_entry:
  .short 1, 0x101
  .long 64
  .quad tw_test_fatbin_end - tw_test_text
  .long 0, 64
  .short 0, 9
  .long 90, 0, 0
  .quad 0x11, 0, 0
tw_test_text:
  .incbin ")" TILEWRIGHT_SOURCE_DIR R"(/tests/unit/cudart/kernels.ptx"
  .byte 0
tw_test_fatbin_end:
.balign 8
.text
)");
extern "C" const uint8_t tw_test_fatbin[];

namespace tw::cudart {

int abi_version() { return 13000; }
Result<model::DeviceSpec> backend_spec(const std::string& gpu) {
  return model::load_device_spec(gpu);
}
Result<std::unique_ptr<emu::Device>> backend_create(const model::DeviceSpec& spec,
                                                    emu::DeviceOptions options) {
  return std::unique_ptr<emu::Device>(new test::DeviceDouble(spec, std::move(options)));
}

}  // namespace tw::cudart

namespace tw::test {

const char stub_fill = 0, stub_poll = 0, stub_crash = 0, stub_shared = 0, stub_bounded = 0,
           stub_unsupported = 0, stub_missing = 0;
char shadow_table = 0, shadow_constant = 0;
void* managed_slot = nullptr;

std::map<std::string, Behaviour>& behaviours() {
  static std::map<std::string, Behaviour> table = {
      {"fill",
       [](Call& call) {
         auto* p = reinterpret_cast<uint32_t*>(
             call.device.host_pointer(call.argument<uint64_t>(0), call.argument<uint32_t>(2) * 4));
         for (uint32_t i = 0; p && i < call.argument<uint32_t>(2); i++)
           p[i] = call.argument<uint32_t>(1);
         return emu::GridRun::State::done;
       }},
      {"poll",  // until the word is not zero
       [](Call& call) {
         auto* p = reinterpret_cast<volatile uint32_t*>(
             call.device.host_pointer(call.argument<uint64_t>(0), 4));
         return *p ? emu::GridRun::State::done : emu::GridRun::State::yielded;
       }},
      {"crash",
       [](Call& call) {
         call.fault = {.kind = emu::FaultKind::illegal_address,
                       .message = "store out of bounds",
                       .kernel = "crash",
                       .file = "k.cu",
                       .line = 3,
                       .instruction = "st.global.u32 [%rd1], %r1;",
                       .address = 16,
                       .waiting = {}};
         return emu::GridRun::State::faulted;
       }},
  };
  return table;
}

namespace {

struct Registered {
  Registered() {
    static struct {
      uint32_t magic = cudart::kFatbinWrapperMagic, version = 1;
      const void* data = tw_test_fatbin;
      void* prelinked = nullptr;
    } wrapper;
    void** handle = __cudaRegisterFatBinary(&wrapper);
    const auto function = [&](const char* stub, const char* name) {
      __cudaRegisterFunction(handle, stub, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    };
    function(&stub_fill, "fill");
    function(&stub_poll, "poll");
    function(&stub_crash, "crash");
    function(&stub_shared, "shared_user");
    function(&stub_bounded, "bounded");
    function(&stub_unsupported, "unsupported");
    function(&stub_missing, "not_in_the_ptx");
    __cudaRegisterVar(handle, &shadow_table, nullptr, "table", 0, 64, 0, 0);
    __cudaRegisterVar(handle, &shadow_constant, nullptr, "constant_table", 0, 16, 1, 0);
    __cudaRegisterManagedVar(handle, &managed_slot, nullptr, "counter", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
  }
} registered;

}  // namespace

void reset_device() {
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaGetLastError();
}

}  // namespace tw::test
