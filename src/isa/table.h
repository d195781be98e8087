// The instruction table: every instruction the engine knows, one row each, and the matcher from a
// parsed instruction to its row. Parser verification, decode, counters and docs/isa.md all read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/machine_rows.h"
#include "isa/mods.h"
#include "isa/row.h"
#include "ptx/module.h"
#include "util/result.h"

namespace tw::isa {

using RowId = uint16_t;

// A spelling resolved against the table.
struct Match {
  RowId row = 0;
  Type type = Type::none;   // `.type`
  Type type2 = Type::none;  // `.type2`
  Mods mods;
};

size_t row_count();
const RowInfo& row_info(RowId row);
std::optional<Machine> machine_row(RowId row);  // nullopt for lane rows

// The row for an instruction. The error names the instruction, its PTX line, and the manual section
// of the nearest row where there is one.
Result<Match> match(const ptx::Instruction& instruction, const std::string& file);

// Every spelling (opcode and modifiers) that more than one row accepts; empty when the table is
// sound.
std::vector<std::string> ambiguous_spellings();

// The spellings that a row's grammar allows, one word a slot; "" where an optional slot is left
// out.
std::vector<std::vector<std::string>> spellings(RowId row);
// Those words resolved against that row; nullopt if they do not fit it.
std::optional<Match> match_words(RowId row, const std::vector<std::string>& words);

// "https://docs.nvidia.com/cuda/parallel-thread-execution/#..." for a row.
std::string manual_url(const RowInfo& info);

}  // namespace tw::isa
