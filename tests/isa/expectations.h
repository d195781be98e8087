// The file of results that a real GPU gave: written by tests/gpu/isa_expectations.cpp, read by
// isa_test.cpp. Little-endian; standard library only.
//   header   magic "TWISA1\0\0", u32 driver version, u32 cases, 64 bytes device name
//   a case   u64 key, u8 ran (0: the driver refused the kernel), u8 bytes a result, u16 0,
//            u32 results,
//            then the results
// The key is a hash of everything that decides the results (instruction, operand types, tuples), so
// a case that has changed since is found to be missing rather than wrong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace tw::isa_test {

struct GpuResults {
  bool ran = false;
  uint8_t result_bytes = 0;
  std::vector<uint64_t> values;
};
struct Expectations {
  uint32_t driver = 0;
  std::string device;
  std::unordered_map<uint64_t, GpuResults> cases;
};

inline bool write_expectations(const char* path, const Expectations& e,
                               const std::vector<uint64_t>& order) {
  FILE* file = std::fopen(path, "wb");
  if (!file) return false;
  auto put = [&](const void* data, size_t bytes) { std::fwrite(data, 1, bytes, file); };
  uint32_t count = uint32_t(order.size());
  char name[64] = {};
  std::strncpy(name, e.device.c_str(), 63);
  put("TWISA1\0\0", 8), put(&e.driver, 4), put(&count, 4), put(name, 64);
  for (uint64_t key : order) {
    const GpuResults& r = e.cases.at(key);
    uint8_t head[4] = {uint8_t(r.ran), r.result_bytes, 0, 0};
    uint32_t results = uint32_t(r.values.size());
    put(&key, 8), put(head, 4), put(&results, 4);
    for (uint64_t v : r.values) put(&v, r.result_bytes);
  }
  return std::fclose(file) == 0;
}

// False: no such file, or not one of this format.
inline bool read_expectations(const char* path, Expectations& e) {
  FILE* file = std::fopen(path, "rb");
  if (!file) return false;
  bool good = true;
  auto get = [&](void* data, size_t bytes) {
    good = good && std::fread(data, 1, bytes, file) == bytes;
  };
  char magic[8], name[64];
  uint32_t count = 0;
  get(magic, 8), get(&e.driver, 4), get(&count, 4), get(name, 64);
  good = good && std::memcmp(magic, "TWISA1\0\0", 8) == 0;
  if (good) e.device.assign(name, strnlen(name, 64));
  for (uint32_t i = 0; good && i < count; ++i) {
    uint64_t key = 0;
    uint8_t head[4];
    uint32_t results = 0;
    get(&key, 8), get(head, 4), get(&results, 4);
    if (!good || head[1] > 8 || results > 1u << 20) good = false;
    GpuResults r;
    r.ran = head[0] != 0, r.result_bytes = head[1];
    for (uint32_t k = 0; good && k < results; ++k) {
      uint64_t v = 0;
      get(&v, r.result_bytes);
      r.values.push_back(v);
    }
    e.cases[key] = std::move(r);
  }
  std::fclose(file);
  return good;
}

}  // namespace tw::isa_test
