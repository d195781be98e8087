#include "emu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "emu/observer.h"

namespace tw::emu {
namespace {

constexpr uint64_t kAlignment = 512;  // of device addresses; cudaMalloc promises 256
constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 512;  // unallocated bytes after each allocation
constexpr uint64_t kHugePage =
    2 << 20;  // large allocations are aligned to it and ask for such pages

constexpr uint64_t kMostKept = 1 << 28;  // addresses of freed memory that wait

constexpr uint64_t kHeapGrain = 16;  // device-side malloc's alignment

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

// The same pages at two places.
void map_anew(void* at, uint64_t bytes, int protection) {
  mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool map_twice(void* first, void* second, uint64_t bytes) {
  const int file = memfd_create("managed memory", MFD_CLOEXEC);
  if (file < 0) return false;
  auto map = [&](void* at) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  };
  const bool done = ftruncate(file, off_t(bytes)) == 0 && map(first) && map(second);
  const int error = errno;
  if (!done) {
    map_anew(first, bytes, PROT_NONE);
    map_anew(second, bytes, PROT_READ | PROT_WRITE);
  }
  close(file);
  errno = error;
  return done;
}

}  // namespace

Result<std::unique_ptr<MemoryMap>> MemoryMap::create(uint64_t capacity, ObserverSource* observers,
                                                     uint32_t device) {
  std::unique_ptr<MemoryMap> map(new MemoryMap);
  map->observers_ = observers;
  map->capacity_ = capacity;
  map->device_ = device;
  map->window_bytes_ = round_up(capacity, kPage) + (uint64_t{1} << 30);
  auto reserve = [&](int protection) {
    return mmap(nullptr, map->window_bytes_, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* window = reserve(PROT_NONE);
  void* data = reserve(PROT_READ | PROT_WRITE);
  if (window == MAP_FAILED || data == MAP_FAILED)
    return Error{
        fmt::format("cannot reserve {} bytes of address space for device memory: {}; try a smaller "
                    "--device-memory",
                    map->window_bytes_, std::strerror(errno))};
  map->window_ = reinterpret_cast<uint64_t>(window);
  map->data_ = map->mapped_data_ = static_cast<uint8_t*>(data);
  // Device addresses and their bytes are equally far from a huge page's border.
  uint64_t shift = (reinterpret_cast<uint64_t>(map->data_) - map->window_) % kHugePage;
  if (shift != 0) map->data_ += kHugePage - shift;
  map->usable_ = map->window_bytes_ - kHugePage;
  uint64_t first = round_up(map->window_, kAlignment);
  map->holes_[first] = map->window_ + map->usable_ - first;
  return map;
}

MemoryMap::~MemoryMap() {
  for (auto& [address, a] : live_)
    if (a.kind == AllocationKind::host && a.label.empty()) std::free(a.host);
  if (window_ != 0) munmap(reinterpret_cast<void*>(window_), window_bytes_);
  if (mapped_data_ != nullptr) munmap(mapped_data_, window_bytes_);
}

Result<uint64_t> MemoryMap::allocate(uint64_t bytes, AllocationKind kind, std::string label) {
  Result<Allocation> a = reserve(bytes, kind, std::move(label));
  if (!a.ok()) return a.error();
  if (observers_ != nullptr) observers_->allocated(*a);
  return a->address;
}

Result<Allocation> MemoryMap::reserve(uint64_t bytes, AllocationKind kind, std::string label) {
  std::unique_lock lock(mutex_);
  Allocation a;
  a.bytes = bytes;
  a.kind = kind;
  a.device = device_;
  a.label = std::move(label);
  if (kind == AllocationKind::host) {
    void* p = nullptr;
    if (bytes > (uint64_t{1} << 46) || posix_memalign(&p, kPage, round_up(bytes, kPage)) != 0)
      return Error{fmt::format("out of host memory: {} bytes", bytes)};
    a.host = static_cast<uint8_t*>(p);
    a.address = reinterpret_cast<uint64_t>(p);
  } else {
    if (bytes > capacity_ || used_ + bytes > capacity_)
      return Error{fmt::format("out of device memory: {} bytes asked for, {} of {} free", bytes,
                               capacity_ - used_, capacity_)};
    bool managed = kind == AllocationKind::managed;
    uint64_t alignment = managed ? kPage : bytes >= 2 * kHugePage ? kHugePage : kAlignment;
    uint64_t need = round_up(bytes + kGuard, managed ? kPage : kAlignment);
    uint64_t at = 0;
    auto hole = holes_.end();
    do {
      for (hole = holes_.begin(); hole != holes_.end(); ++hole) {
        at = round_up(hole->first, alignment);
        if (at + need <= hole->first + hole->second) break;
      }
    } while (hole == holes_.end() && give_oldest_kept());
    if (hole == holes_.end())
      return Error{fmt::format("out of device address space: {} bytes", bytes)};
    // The pages of managed memory lie at their device address, readable and writable by the host.
    // An observer may protect them there: the engine then has them at another place, too.
    uint8_t* const place = data_ + (at - window_);
    if (managed && !(observers_ != nullptr ? map_twice(reinterpret_cast<void*>(at), place, need)
                                           : mprotect(reinterpret_cast<void*>(at), need,
                                                      PROT_READ | PROT_WRITE) == 0))
      return Error{
          fmt::format("cannot map {} bytes of managed memory: {}", bytes, std::strerror(errno))};
    uint64_t start = hole->first, end = hole->first + hole->second;
    holes_.erase(hole);
    if (at > start) holes_[start] = at - start;
    if (at + need < end) holes_[at + need] = end - (at + need);
    a.address = at;
    if (managed && observers_ == nullptr) {
      a.host = reinterpret_cast<uint8_t*>(at);
    } else {
      a.host = place;
      // Column walks over a large matrix touch a page an element: fewer, larger pages.
      if (!managed && bytes >= 2 * kHugePage)
        madvise(a.host, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    }
    used_ += bytes;
  }
  a.id = next_id_++;
  live_[a.address] = a;
  return a;
}

Result<uint64_t> MemoryMap::allocate_on_heap(uint64_t bytes) {
  if (bytes > capacity_) return Error{fmt::format("{} bytes exceed the device's memory", bytes)};
  const uint64_t taken = round_up(bytes, kHeapGrain);
  if (heap_used_.fetch_add(taken) + taken > heap_limit_) {
    heap_used_ -= taken;
    return Error{fmt::format("the heap of {} bytes is used up", heap_limit_.load())};
  }
  Result<uint64_t> address = allocate(bytes, AllocationKind::module, kHeapLabel);
  if (!address.ok()) heap_used_ -= taken;
  return address;
}

Status MemoryMap::register_host(void* pointer, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  Allocation a;
  a.address = reinterpret_cast<uint64_t>(pointer);
  a.host = static_cast<uint8_t*>(pointer);
  a.bytes = bytes;
  a.kind = AllocationKind::host;
  a.device = device_;
  a.label = "registered";
  a.id = next_id_++;
  auto next = live_.lower_bound(a.address);
  bool overlaps = next != live_.end() && next->first < a.address + bytes;
  if (next != live_.begin()) {
    auto before = std::prev(next);
    overlaps |= before->first + before->second.bytes > a.address;
  }
  if (overlaps) return Error{"the memory is registered already"};
  live_[a.address] = a;
  lock.unlock();
  if (observers_ != nullptr) observers_->allocated(a);
  return Unit{};
}

void MemoryMap::release(const Allocation& a) {
  if (a.kind == AllocationKind::host) {
    if (a.label.empty()) std::free(a.host);
    return;
  }
  bool managed = a.kind == AllocationKind::managed;
  uint64_t need = round_up(a.bytes + kGuard, managed ? kPage : kAlignment);
  // Give the pages back; what the next owner sees is zeros or old bytes, as on a GPU.
  if (managed) {
    map_anew(reinterpret_cast<void*>(a.address), need, PROT_NONE);
    if (reinterpret_cast<uint64_t>(a.host) != a.address)
      map_anew(a.host, need, PROT_READ | PROT_WRITE);
  } else if (a.bytes >= (1u << 20)) {
    uint8_t* from = reinterpret_cast<uint8_t*>(round_up(reinterpret_cast<uint64_t>(a.host), kPage));
    uint8_t* to =
        reinterpret_cast<uint8_t*>(reinterpret_cast<uint64_t>(a.host + a.bytes) / kPage * kPage);
    if (to > from) madvise(from, size_t(to - from), MADV_DONTNEED);
  }
  used_ -= a.bytes;
  if (a.label == kHeapLabel) heap_used_ -= round_up(a.bytes, kHeapGrain);
  if (observers_ == nullptr || !observers_->keeps_freed()) {
    give_hole(a.address, need);
    return;
  }
  kept_.emplace_back(a.address, need);
  kept_bytes_ += need;
  while (kept_bytes_ > kMostKept && kept_.size() > 1) give_oldest_kept();
}

bool MemoryMap::give_oldest_kept() {
  if (kept_.empty()) return false;
  const auto [start, bytes] = kept_.front();
  kept_.pop_front();
  kept_bytes_ -= bytes;
  give_hole(start, bytes);
  return true;
}

void MemoryMap::give_hole(uint64_t start, uint64_t bytes) {
  auto next = holes_.lower_bound(start);
  if (next != holes_.end() && start + bytes == next->first) {
    bytes += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == start) {
      before->second += bytes;
      return;
    }
  }
  holes_[start] = bytes;
}

Status MemoryMap::free(uint64_t address) {
  // Observers are told before anybody else can get the memory.
  if (observers_ != nullptr)
    if (const std::optional<Allocation> a = find(address); a && a->address == address)
      observers_->freed(*a);
  std::unique_lock lock(mutex_);
  auto it = live_.find(address);
  if (it == live_.end())
    return Error{fmt::format("{:#x} is not the start of a live allocation", address)};
  release(it->second);
  live_.erase(it);
  return Unit{};
}

std::optional<Allocation> MemoryMap::find(uint64_t address) const {
  std::optional<Allocation> found = find_own(address);
  if (found) return found;
  std::vector<const MemoryMap*> peers;
  {
    std::shared_lock lock(mutex_);
    peers = peers_;
  }
  for (const MemoryMap* peer : peers)
    if ((found = peer->find_own(address))) return found;
  return std::nullopt;
}

void MemoryMap::set_peer(const MemoryMap& peer, bool accessible) {
  std::unique_lock lock(mutex_);
  std::erase(peers_, &peer);
  if (accessible) peers_.push_back(&peer);
}

std::optional<Allocation> MemoryMap::find_own(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return std::nullopt;
  --it;
  if (address - it->first >= it->second.bytes) return std::nullopt;
  return it->second;
}

std::optional<Allocation> MemoryMap::nearest(uint64_t address) const {
  std::shared_lock lock(mutex_);
  std::optional<Allocation> best;
  uint64_t distance = ~0ull;
  auto it = live_.upper_bound(address);
  if (it != live_.end()) {
    best = it->second;
    distance = it->first - address;
  }
  if (it != live_.begin()) {
    --it;
    uint64_t end = it->first + it->second.bytes;
    uint64_t after = address >= end ? address - end : 0;
    if (after < distance) best = it->second;
  }
  return best;
}

uint64_t MemoryMap::used() const {
  std::shared_lock lock(mutex_);
  return used_;
}

}  // namespace tw::emu
