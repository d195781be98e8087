// The instructions of a decoded kernel as the report wants them: text, source line, category, pipe,
// what Nsight Compute calls the operation. All derived from the instruction table's rows.
//
// Tested by tests/unit/observe/counting_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/memory_handlers.h"
#include "emu/program.h"
#include "report/record.h"

namespace tw::counters {

struct SiteTable {
  std::vector<report::SiteInfo>
      sites;  // Program::sites, then one more for each space of generic accesses
  std::vector<uint32_t> generic_shared, generic_local;  // by Program::sites: that extra entry, or 0
};

SiteTable describe_sites(const emu::Program& program);

}  // namespace tw::counters
