// Of one warp access, while the detector looks at it. Private to src/shadow.
#pragma once

#include "shadow/races.h"

namespace tw::shadow {

struct Races::Context {
  RecordLog& records;
  const CtaOrder& order;
  bool global;
  uint32_t record = 0;  // of this access; made when first needed

  uint32_t time(const WarpAccess& a) const {
    return a.time == WarpAccess::kNow ? order.time(a.warp) : a.time;
  }
  uint32_t number(const WarpAccess& a) {
    if (record == 0) {
      const Record r{order.cta(),      order.epoch(), time(a),  a.site,
                     uint16_t(a.warp), a.type,        a.strong, a.wide};
      record = global ? records.add_once(r) : records.add(r);
    }
    return record;
  }
  uint32_t entry(const WarpAccess& a, uint32_t lane) { return number(a) * 32 + lane; }
};

}  // namespace tw::shadow
