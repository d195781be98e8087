// What the engine's memory handlers decide by themselves, so that the detailed checks (races.h) are
// asked only where there is something to see. Free of engine types; inlined into the handlers.
//
// Shared memory. In an epoch in which only barriers of the whole CTA have ordered threads, accesses
// are written to a log. A stamp for each four bytes names the last writer of the epoch: a second
// writer shows at once, a reader of what another thread writes when the epoch ends. Only then is
// the log played to the detector, which finds the sites; otherwise it is dropped. The stamps need
// not be exact to the byte: they only have to show every conflict that there is.
//
// Global memory. A tag for each 64 bytes says that loads of them need no note: all their words have
// been read by two CTAs in this launch (whoever writes them then races with one of these), nobody
// has written them, and all are initialised. A write takes the tag away; the end of a launch, or an
// acquire that may have ordered CTAs, takes all.
//
// Tested by tests/unit/shadow/filter_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace tw::shadow {

class CtaOrder;
class Lines;
class Races;

inline constexpr uint32_t kLineShift = 6;

// Which bytes have been written: a bit for each.
struct WrittenView {
  uint64_t* bits = nullptr;
  uint64_t left = 0;  // bytes that have not; 0: nothing to ask

  // `count` <= 64 bytes.
  bool all(uint64_t offset, uint32_t count) const {
    const uint64_t mask = count == 64 ? ~0ull : (1ull << count) - 1;
    const uint32_t shift = offset % 64;
    const uint64_t* at = bits + offset / 64;
    if ((~at[0] & (mask << shift)) != 0) return false;
    return shift + count <= 64 || (~at[1] & (mask >> (64 - shift))) == 0;
  }
  // The bytes that are missing, a bit each; `count` <= 32.
  uint32_t missing(uint64_t offset, uint32_t count) const {
    const uint32_t shift = uint32_t(offset % 64);
    const uint64_t* at = bits + offset / 64;
    uint64_t missing = ~at[0] >> shift;
    if (shift + count > 64) missing |= ~at[1] << (64 - shift);
    return uint32_t(missing & ((1ull << count) - 1));
  }
  // Takes bytes back, a bit each, 32 at most.
  void unset(uint64_t offset, uint32_t bytes) {
    for (; bytes != 0; bytes &= bytes - 1) {
      const uint64_t byte = offset + uint32_t(__builtin_ctz(bytes)), bit = 1ull << byte % 64;
      left += (bits[byte / 64] & bit) != 0;
      bits[byte / 64] &= ~bit;
    }
  }
  void set(uint64_t offset, uint32_t count) {
    const uint64_t mask = count == 64 ? ~0ull : (1ull << count) - 1;
    const uint32_t shift = offset % 64;
    uint64_t* at = bits + offset / 64;
    uint64_t fresh = ~at[0] & (mask << shift);
    at[0] |= fresh;
    if (fresh != 0) left -= uint64_t(__builtin_popcountll(fresh));
    if (shift + count <= 64) return;
    fresh = ~at[1] & (mask >> (64 - shift));
    at[1] |= fresh;
    left -= uint64_t(__builtin_popcountll(fresh));
  }
};

// What is the same whenever an instruction (or a fused row of loads) executes.
struct LogSite {
  struct Member {
    uint32_t site = 0;
    int32_t offset = 0;
  };
  uint32_t site = 0;
  uint8_t bytes = 4;  // of one lane
  bool write = false;
  uint32_t stride = 0;  // of regular entries: between neighbours among lanes 0 to 15, and 16 to 31
  const Member* members = nullptr;  // rows: loads at these distances from the lanes' addresses
  uint32_t count = 0;
  int32_t low = 0, high = 0;  // rows: least and largest distance
};

// One execution by a warp.
struct Logged {
  const LogSite* what;
  uint32_t lanes;
  // Regular: addresses of lanes 0 and 16, the others in steps. Otherwise low: where all 32 lie.
  uint32_t low, high;
  uint32_t time;
  uint16_t warp;
  bool regular;
};

// Where an access may fall, in bytes of shared memory: an array. Rows: the lanes' addresses, before
// the members' distances are added.
struct SharedRange {
  int64_t low = 0, high = 0;  // high: past the end
};

// Reads of shared memory with unwritten bytes in it (a padded tile) repeat themselves from CTA to
// CTA. A read by a warp that was found to be of written bytes only stands here, with a number for the
// content of `written`; the same read with the same content is such a read, too.
class PassedReads {
 public:
  struct Read {
    uint32_t content = 0, site = 0, warp = 0, low = 0, high = 0;
    bool operator==(const Read&) const = default;
  };
  // Something has been written.
  void wrote() { content_ = 0, reads_ = 0; }
  // The content's number; 0: not known, and not worth the time while writes and reads alternate.
  uint32_t content(const WrittenView& written, uint32_t bytes) {
    if (content_ != 0 || ++reads_ < kReads + bytes / 4096) return content_;
    return number(written, bytes);
  }
  Read& at(uint32_t site, uint32_t warp) { return reads_passed_[(site * 31 + warp) % kEntries]; }

 private:
  static constexpr uint32_t kEntries = 256, kReads = 4;
  uint32_t number(const WrittenView& written, uint32_t bytes);
  uint32_t content_ = 0, reads_ = 0;  // since the last write
  uint32_t known_number_ = 0;
  std::vector<uint64_t> known_;  // the content that has this number
  Read reads_passed_[kEntries];
};

// Of one CTA.
struct CtaFilter {
  // ---- shared memory ----
  bool open = false;  // the handlers may log; otherwise every access is reported
  bool races = false;
  uint32_t bytes = 0;                       // of shared memory
  const SharedRange* ranges = nullptr;      // by site
  const SharedRange* row_ranges = nullptr;  // two for each fused row of loads
  uint32_t* stamps = nullptr;  // by four bytes: base + thread of the last writer of this epoch
  uint32_t base = 0;           // smaller ones are of earlier epochs
  uint32_t written_low = ~0u, written_high = 0;         // of this epoch
  Logged *log = nullptr, *log_end = nullptr;            // next free entry
  uint32_t *offsets = nullptr, *offsets_end = nullptr;  // 32 for each irregular entry
  const uint32_t* offsets_begin = nullptr;
  const uint32_t* times = nullptr;  // clocks, by warp
  WrittenView written;
  PassedReads* passed = nullptr;  // nullptr: nobody asks what is initialised

  // ---- global memory ----
  struct Site {
    uint64_t low = 1, span = 0;      // the allocation; the largest offset at which an access fits
    const uint32_t* tags = nullptr;  // by line of the allocation
    Lines* lines = nullptr;          // for note_global
    WrittenView* written = nullptr;  // nullptr: nobody asks
    int64_t bias = 0;                // address + bias: where the bytes lie
    bool always = false;             // no check looks at accesses of this site to this allocation
  };
  const Site* sites = nullptr;    // by site
  const uint32_t* tag = nullptr;  // the present one
  Races* detector = nullptr;
  const CtaOrder* order = nullptr;

  bool room() const { return !races || log != log_end; }
  bool room_for_offsets() const { return !races || (log != log_end && offsets != offsets_end); }
  void add(const LogSite* what, uint32_t lanes, uint32_t low, uint32_t high, uint32_t warp) {
    *log++ = {what, lanes, low, high, times[warp], uint16_t(warp), true};
  }
  uint32_t* add_offsets(const LogSite* what, uint32_t lanes, uint32_t warp) {
    uint32_t* at = offsets;
    *log++ = {what, lanes, uint32_t(at - offsets_begin), 0, times[warp], uint16_t(warp), false};
    offsets += 32;
    return at;
  }
  void wrote(uint32_t low, uint32_t high) {
    written_low = low < written_low ? low : written_low;
    written_high = high > written_high ? high : written_high;
  }
  static bool fits(const SharedRange& r, uint32_t address, uint32_t count) {
    return address >= r.low && int64_t(address) + count <= r.high;
  }
};

// 32 lanes access neighbouring elements of 4, 8 or 16 bytes, each half-warp from an offset of its
// own in the allocation; or one place for each half-warp (reads).
struct NotedAccess {
  uint64_t low, high;
  uint32_t site, warp;
  uint8_t bytes;  // of one lane
  bool write, together;
};
// Notes an access whose lines are not tagged, if its lines can take the note; false: it has to be
// reported. Defined in races_global.cpp.
bool note_global(const CtaFilter& filter, const CtaFilter::Site& s, const NotedAccess& n);

}  // namespace tw::shadow
