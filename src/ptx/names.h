// Interned names: each distinct spelling of a module is one small number, so that what a name means
// (at module level, in the function at hand) is an array look-up, and leaving a scope is undoing a
// short log instead of rebuilding a map.
//
// Open addressing over views into the PTX text; names made by the parser are kept here.
// Tested by tests/unit/ptx (every parse goes through it).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tw::ptx {

class NameTable {
 public:
  NameTable() : slots_(1024, kEmpty) {}

  // The number of `name`, whose characters must outlive the table.
  uint32_t id(std::string_view name);
  // The same for a string the table has to keep.
  uint32_t id_of_made(std::string name);

  // The number of `name` if it has one, otherwise kEmpty.
  uint32_t find(std::string_view name) const;

  std::string_view text(uint32_t id) const { return names_[id].text; }
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

  static constexpr uint32_t kEmpty = 0xffffffff;

 private:
  struct Entry {
    std::string_view text;
    uint64_t hash;
  };
  size_t slot_of(std::string_view name,
                 uint64_t hash) const;  // the slot that holds it or is free for it
  uint32_t insert(size_t slot, std::string_view name, uint64_t hash);

  std::vector<uint32_t> slots_;  // a power of two
  std::vector<Entry> names_;
  std::deque<std::string> made_;
};

}  // namespace tw::ptx
