// In front of a load or store that is observed through a filter (kObserveFiltered): reports it, or
// shows that there is nothing to report (filter_handlers.cpp, once for each instruction set).
#pragma once

#include "emu/observer.h"
#include "emu/program.h"

namespace tw::emu {

struct FilterKey {
  bool store = false;
  bool shared = false;   // otherwise global or generic
  bool uniform = false;  // one scalar address
  bool regular = false;  // full mask, and AccessSite::log has a stride
  bool unit = false;     // regular, without gaps
  uint8_t bytes = 4;     // of one lane
};

struct FilterTarget {
  Handler (*filter)(const FilterKey&);  // Op as of observe_access_handler
  Handler row;  // extra = RowFilter*; op + 1 is the fused row, from op + 2 on its parts
};
const FilterTarget& filter_target(const Target& target);

}  // namespace tw::emu
