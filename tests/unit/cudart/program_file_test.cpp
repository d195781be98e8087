#include "cudart/program_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tw::cudart {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> own_image() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Elf, ReadsThisTestProgram) {
  const auto program = read_program_file("/proc/self/exe");
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  EXPECT_TRUE(program->dynamic);
  EXPECT_FALSE(program->device_code);
  EXPECT_THAT(program->needed, testing::Contains("libc.so.6"));
}

TEST(Elf, EveryTruncationGivesAnErrorOrFewerFacts) {
  const std::vector<uint8_t> image = own_image();
  for (size_t n = 0; n < 4096 && n < image.size(); n += 7)
    (void)read_program({image.data(), n}, "cut").ok();
  for (size_t n = 0; n < 64; n++) EXPECT_FALSE(read_program({image.data(), n}, "cut").ok());
  EXPECT_FALSE(read_program({image.data(), image.size() / 2}, "cut").ok());
}

TEST(Elf, DamagedHeadersNeverCrash) {
  std::vector<uint8_t> image = own_image();
  Elf64_Ehdr head;
  std::memcpy(&head, image.data(), sizeof head);
  for (size_t i = 0; i < sizeof(Elf64_Ehdr) + head.e_phnum * sizeof(Elf64_Phdr); i++)
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      image[i] ^= flip;
      (void)read_program(image, "damaged").ok();
      image[i] ^= flip;
    }
}

TEST(Elf, OtherFilesAreNamedAsSuch) {
  const std::string script = "#!/bin/sh\necho hello\n";
  const auto r =
      read_program({reinterpret_cast<const uint8_t*>(script.data()), script.size()}, "a.sh");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().file, "a.sh");
  EXPECT_THAT(r.error().message, HasSubstr("neither a CUDA source (.cu) nor an ELF program"));
  EXPECT_THAT(read_program_file("/nowhere/x").error().message, HasSubstr("no such file"));
  EXPECT_THAT(read_program_file("/").error().message, HasSubstr("no regular file"));
}

// An ELF file with one executable segment of 0x1000 bytes at 0x1000 and these functions in it.
std::vector<uint8_t> image_with(const std::vector<std::pair<std::string, uint64_t>>& functions) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> symbols(1, Elf64_Sym{});
  for (const auto& [name, address] : functions) {
    symbols.push_back({.st_name = Elf64_Word(names.size()),
                       .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                       .st_other = 0,
                       .st_shndx = 1,
                       .st_value = address,
                       .st_size = 1});
    names += name + '\0';
  }
  const uint32_t section_name = uint32_t(names.size());
  names += std::string(".nv_fatbin") + '\0';
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_phoff = sizeof head;
  head.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_vaddr = 0x1000;
  segment.p_filesz = segment.p_memsz = 0x1000;
  const uint64_t at_names = sizeof head + sizeof segment, at_symbols = at_names + names.size();
  head.e_shoff = at_symbols + symbols.size() * sizeof(Elf64_Sym);
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  Elf64_Shdr sections[3] = {};
  sections[0].sh_name = section_name;
  sections[1].sh_offset = at_names;
  sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_link = 1;
  sections[2].sh_offset = at_symbols;
  sections[2].sh_size = symbols.size() * sizeof(Elf64_Sym);
  std::vector<uint8_t> image;
  const auto append = [&](const void* data, size_t bytes) {
    const auto* first = static_cast<const uint8_t*>(data);
    image.insert(image.end(), first, first + bytes);
  };
  append(&head, sizeof head);
  append(&segment, sizeof segment);
  append(names.data(), names.size());
  append(symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  append(sections, sizeof sections);
  return image;
}

TEST(StaticRuntime, ItsFunctionsAndTheirRoom) {
  const auto program = read_program(image_with({{"main", 0x1000},
                                                {"cudaMalloc", 0x1100},
                                                {"cudaMallocAlias", 0x1100},
                                                {"other", 0x1120},
                                                {"__cudaRegisterFatBinary", 0x1ff0},
                                                {"cudaLogsCurrent", 0x3000}}),
                                    "p");
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  EXPECT_TRUE(program->device_code);
  EXPECT_TRUE(program->has_symbols);
  EXPECT_EQ(program->static_abi, 13);
  ASSERT_EQ(program->runtime_entries.size(), 4u);
  EXPECT_EQ(program->runtime_entries[0].name, "cudaMalloc");
  EXPECT_EQ(program->runtime_entries[0].address, 0x1100u);
  EXPECT_EQ(program->runtime_entries[0].room, 0x20u);  // up to `other`, not to its own second name
  EXPECT_EQ(program->runtime_entries[2].room, 0x10u);  // up to the end of the segment
  EXPECT_EQ(program->runtime_entries[3].room, 0u);     // in no code
}

TEST(StaticRuntime, TheAbiIsToldByWhatOnlyOneHas) {
  const auto abi_of = [](const char* name) {
    return read_program(image_with({{"__cudaRegisterFatBinary", 0x1000}, {name, 0x1100}}), "p")
        ->static_abi;
  };
  EXPECT_EQ(abi_of("cudaGetDeviceProperties_v2"), 12);
  EXPECT_EQ(abi_of("cudaLogsCurrent"), 13);
  EXPECT_EQ(abi_of("cudaThreadSynchronize"), 0);  // CUDA 11 has it too
}

TEST(StaticRuntime, FunctionsOfTheProgramsOwnAreNone) {
  const auto program = read_program(image_with({{"cudaLogsCurrent", 0x1000}}), "p");
  EXPECT_TRUE(program->runtime_entries.empty());
  EXPECT_EQ(program->static_abi, 0);
}

TEST(StaticRuntime, DamagedTablesNeverCrash) {
  std::vector<uint8_t> image =
      image_with({{"cudaMalloc", 0x1100}, {"__cudaRegisterFatBinary", UINT64_MAX}});
  for (size_t i = 0; i < image.size(); i++)
    for (const uint8_t flip : {0x01, 0x40, 0x80, 0xff}) {
      image[i] ^= flip;
      (void)read_program(image, "damaged").ok();
      image[i] ^= flip;
    }
  for (size_t n = 0; n < image.size(); n++)
    EXPECT_FALSE(read_program({image.data(), n}, "cut").ok());
}

}  // namespace
}  // namespace tw::cudart
