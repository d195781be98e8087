// Fat binaries: the container in which nvcc (and clang) embed device code in a host program. No
// CUDA types and no I/O here: bytes in, entries out.
//
// Layout (observed on images made by nvcc 9 to 13; NVIDIA publishes only the wrapper,
// fatbinary_section.h):
//   wrapper    u32 magic 0x466243b1, u32 version, pointer to the container, pointer (version 2:
//              prelinked containers)
//   container  u32 magic 0xba55ed50, u16 version 1, u16 header bytes (16), u64 bytes of the
//              entries that follow
//   entry      +0 u16 kind (1 PTX, 2 ELF = SASS), +2 u16 version 0x0101,
//              +4 u32 header bytes (>= 64), +8 u64 payload bytes,
//              +16 u32 compressed bytes (payload less its padding), +20 u32 offset of the options,
//              +24 u16 minor, u16 major of the code version, +28 u32 architecture (90),
//              +32 u32 offset and +36 u32 length of the source's name,
//              +40 u64 flags (1 64-bit, 2 debug, 0x10 Linux, 0x2000 LZ4, 0x8000 Zstandard),
//              +56 u64 bytes once decompressed
// Other containers' bytes may follow in the section; only a container's own size is read.
// All numbers are little-endian. Every length is checked against the bytes there are; hostile
// images give an Error. Decompressed text is bounded (kMaxTextBytes).
//
// Tested by tests/unit/cudart/fatbin_test.cpp (images by nvcc) and fuzz/fatbin.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/result.h"

namespace tw::cudart {

inline constexpr uint32_t kFatbinWrapperMagic = 0x466243b1;
inline constexpr uint32_t kFatbinContainerMagic = 0xba55ed50;
inline constexpr uint64_t kMaxTextBytes = uint64_t(1) << 30;

struct FatbinEntry {
  enum class Kind : uint8_t { ptx, elf, other };
  enum class Compression : uint8_t { none, lz4, zstd };
  Kind kind = Kind::other;
  Compression compression = Compression::none;
  uint32_t code_major = 0, code_minor = 0;  // PTX ISA version of a PTX entry
  uint32_t arch = 0;                        // 90 for sm_90
  bool debug = false;
  uint64_t text_bytes = 0;           // once decompressed
  std::string source_name;           // "vector_add.cu", or empty
  std::span<const uint8_t> payload;  // as stored, without padding; points into the image
};

// The number of bytes a container claims to have, header included; an error if it is none. For
// images whose length is only known from themselves (a pointer registered by the program): reads 16
// bytes.
Result<uint64_t> fatbin_bytes(const uint8_t* container);

// All entries of the container at the start of `image`.
Result<std::vector<FatbinEntry>> parse_fatbin(std::span<const uint8_t> image);

// The PTX entry with the highest architecture not above `arch` (90); nullptr if there is none.
const FatbinEntry* choose_ptx(const std::vector<FatbinEntry>& entries, uint32_t arch);

// The PTX text of an entry, decompressed, without trailing NULs.
Result<std::string> fatbin_text(const FatbinEntry& entry);

}  // namespace tw::cudart
