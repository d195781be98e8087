#include "ptx/names.h"

#include <cstring>

namespace tw::ptx {
namespace {

// Short names, many of them: eight bytes at a time, multiply and fold.
uint64_t hash_of(std::string_view name) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
  uint64_t hash = name.size() * kMultiplier;
  const char* p = name.data();
  size_t left = name.size();
  while (left != 0) {
    uint64_t word = 0;
    const size_t step = left < 8 ? left : 8;
    std::memcpy(&word, p, step);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 29;
    p += step;
    left -= step;
  }
  return hash ^ (hash >> 32);
}

}  // namespace

size_t NameTable::slot_of(std::string_view name, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != kEmpty) {
    const Entry& entry = names_[slots_[slot]];
    if (entry.hash == hash && entry.text == name) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint32_t NameTable::insert(size_t slot, std::string_view name, uint64_t hash) {
  const uint32_t id = size();
  names_.push_back({name, hash});
  slots_[slot] = id;
  if (names_.size() * 2 > slots_.size()) {
    const size_t mask = slots_.size() * 2 - 1;
    slots_.assign(mask + 1, kEmpty);
    for (uint32_t i = 0; i < names_.size(); ++i) {
      size_t s = names_[i].hash & mask;
      while (slots_[s] != kEmpty) s = (s + 1) & mask;
      slots_[s] = i;
    }
  }
  return id;
}

uint32_t NameTable::id(std::string_view name) {
  const uint64_t hash = hash_of(name);
  const size_t slot = slot_of(name, hash);
  return slots_[slot] != kEmpty ? slots_[slot] : insert(slot, name, hash);
}

uint32_t NameTable::find(std::string_view name) const {
  return slots_[slot_of(name, hash_of(name))];
}

uint32_t NameTable::id_of_made(std::string name) {
  const uint64_t hash = hash_of(name);
  const size_t slot = slot_of(name, hash);
  if (slots_[slot] != kEmpty) return slots_[slot];
  made_.push_back(std::move(name));
  return insert(slot, made_.back(), hash);
}

}  // namespace tw::ptx
