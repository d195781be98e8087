#include "cudart/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace tw::cudart {
namespace {

constexpr uint64_t kContainerHeaderBytes = 16;
constexpr uint64_t kEntryHeaderBytes = 64;
constexpr uint64_t kFlagDebug = 0x2;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint32_t kZstdMagic = 0xfd2fb528;

template <class T> T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Error corrupt(uint64_t offset, std::string what) {
  return Error{.message = fmt::format("corrupt fat binary: {} (at byte {})", what, offset)};
}

}  // namespace

Result<uint64_t> fatbin_bytes(const uint8_t* container) {
  if (read<uint32_t>(container) != kFatbinContainerMagic)
    return corrupt(0, fmt::format("it starts with 0x{:08x} instead of 0x{:08x}",
                                  read<uint32_t>(container), kFatbinContainerMagic));
  const uint64_t header = read<uint16_t>(container + 6);
  const uint64_t body = read<uint64_t>(container + 8);
  if (header < kContainerHeaderBytes)
    return corrupt(6, fmt::format("a container header of {} bytes", header));
  if (body > kMaxTextBytes) return corrupt(8, fmt::format("a container of {} bytes", body));
  return header + body;
}

Result<std::vector<FatbinEntry>> parse_fatbin(std::span<const uint8_t> image) {
  if (image.size() < kContainerHeaderBytes)
    return corrupt(image.size(), "it ends inside the container header");
  const Result<uint64_t> claimed = fatbin_bytes(image.data());
  if (!claimed) return claimed.error();
  if (*claimed > image.size())
    return corrupt(image.size(), fmt::format("truncated: {} bytes of {}", image.size(), *claimed));
  const uint64_t end = *claimed;
  uint64_t offset = read<uint16_t>(image.data() + 6);
  std::vector<FatbinEntry> entries;
  while (offset < end) {
    if (end - offset < kEntryHeaderBytes) return corrupt(offset, "it ends inside an entry header");
    const uint8_t* head = image.data() + offset;
    const uint64_t header_bytes = read<uint32_t>(head + 4);
    const uint64_t payload_bytes = read<uint64_t>(head + 8);
    if (header_bytes < kEntryHeaderBytes || header_bytes > end - offset)
      return corrupt(offset + 4, fmt::format("an entry header of {} bytes", header_bytes));
    if (payload_bytes > end - offset - header_bytes)
      return corrupt(offset + 8, fmt::format("an entry of {} bytes where {} are left",
                                             payload_bytes, end - offset - header_bytes));

    FatbinEntry entry;
    const uint16_t kind = read<uint16_t>(head);
    entry.kind = kind == 1   ? FatbinEntry::Kind::ptx
                 : kind == 2 ? FatbinEntry::Kind::elf
                             : FatbinEntry::Kind::other;
    entry.code_minor = read<uint16_t>(head + 24);
    entry.code_major = read<uint16_t>(head + 26);
    entry.arch = read<uint32_t>(head + 28);
    const uint64_t flags = read<uint64_t>(head + 40);
    entry.debug = (flags & kFlagDebug) != 0;
    const uint8_t* payload = head + header_bytes;
    uint64_t stored = payload_bytes;
    entry.text_bytes = payload_bytes;
    if (flags & (kFlagLz4 | kFlagZstd)) {
      stored = read<uint32_t>(head + 16);
      entry.text_bytes = read<uint64_t>(head + 56);
      if (stored > payload_bytes)
        return corrupt(offset + 16,
                       fmt::format("{} compressed bytes in an entry of {}", stored, payload_bytes));
      if (entry.text_bytes > kMaxTextBytes)
        return corrupt(offset + 56, fmt::format("an entry of {} bytes", entry.text_bytes));
      entry.compression =
          flags & kFlagZstd ? FatbinEntry::Compression::zstd : FatbinEntry::Compression::lz4;
    }
    entry.payload = {payload, size_t(stored)};
    const uint64_t name_offset = read<uint32_t>(head + 32), name_bytes = read<uint32_t>(head + 36);
    if (name_bytes != 0) {
      if (name_offset > header_bytes || name_bytes > header_bytes - name_offset)
        return corrupt(offset + 32, "the name of the source lies outside the entry's header");
      entry.source_name.assign(reinterpret_cast<const char*>(head + name_offset), name_bytes);
      if (const size_t nul = entry.source_name.find('\0'); nul != std::string::npos)
        entry.source_name.resize(nul);
    }
    entries.push_back(std::move(entry));
    offset += header_bytes + payload_bytes;
  }
  return entries;
}

const FatbinEntry* choose_ptx(const std::vector<FatbinEntry>& entries, uint32_t arch) {
  const FatbinEntry* best = nullptr;
  for (const FatbinEntry& entry : entries)
    if (entry.kind == FatbinEntry::Kind::ptx && entry.arch <= arch &&
        (best == nullptr || entry.arch > best->arch))
      best = &entry;
  return best;
}

Result<std::string> fatbin_text(const FatbinEntry& entry) {
  std::string text;
  switch (entry.compression) {
    case FatbinEntry::Compression::none:
      text.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
      break;
    case FatbinEntry::Compression::zstd: {
      if (entry.payload.size() < 4 || read<uint32_t>(entry.payload.data()) != kZstdMagic)
        return corrupt(0, "an entry marked as Zstandard does not start with its magic number");
      // The frame's own size must agree before memory is taken on the header's word.
      const unsigned long long frame =
          ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
      if (frame == ZSTD_CONTENTSIZE_ERROR ||
          (frame != ZSTD_CONTENTSIZE_UNKNOWN && frame != entry.text_bytes))
        return corrupt(0, fmt::format("a Zstandard frame that does not hold the {} bytes announced",
                                      entry.text_bytes));
      if (frame == ZSTD_CONTENTSIZE_UNKNOWN && entry.text_bytes > entry.payload.size() * 4096)
        return corrupt(0, fmt::format("{} bytes announced by {} compressed ones", entry.text_bytes,
                                      entry.payload.size()));
      text.resize(entry.text_bytes);
      const size_t got =
          ZSTD_decompress(text.data(), text.size(), entry.payload.data(), entry.payload.size());
      if (ZSTD_isError(got))
        return corrupt(0, fmt::format("Zstandard data: {}", ZSTD_getErrorName(got)));
      if (got != text.size())
        return corrupt(0, fmt::format("{} bytes decompressed instead of {}", got, text.size()));
      break;
    }
    case FatbinEntry::Compression::lz4: {
      // LZ4 cannot expand by more than 255 to 1: a larger claim is refused before memory is taken.
      if (entry.text_bytes > entry.payload.size() * 255 + 64)
        return corrupt(0, fmt::format("{} bytes announced by {} compressed ones", entry.text_bytes,
                                      entry.payload.size()));
      text.resize(entry.text_bytes);
      const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()),
                                          text.data(), int(entry.payload.size()), int(text.size()));
      if (got < 0 || size_t(got) != text.size()) return corrupt(0, "LZ4 data does not decompress");
      break;
    }
  }
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace tw::cudart
