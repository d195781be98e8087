// Device memory: where allocations lie, what is found at an address, and what is refused.
#include "emu/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "emu/observer.h"

namespace tw::emu {
namespace {

constexpr uint64_t kMega = 1 << 20;
constexpr uint64_t kPage = 4096;

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    auto created = MemoryMap::create(64 * kMega);
    ASSERT_TRUE(created.ok()) << created.error().to_string();
    map = std::move(*created);
  }
  uint64_t allocate(uint64_t bytes, AllocationKind kind = AllocationKind::device) {
    const Result<uint64_t> address = map->allocate(bytes, kind);
    EXPECT_TRUE(address.ok()) << address.error().to_string();
    return address.ok() ? *address : 0;
  }
  std::unique_ptr<MemoryMap> map;
};

TEST_F(Memory, AnAddressIsFoundInItsAllocationAndNotBeyond) {
  const uint64_t a = allocate(100), b = allocate(200);
  EXPECT_EQ(a % 256, 0u);
  ASSERT_TRUE(map->find(a + 99));
  EXPECT_EQ(map->find(a + 99)->address, a);
  EXPECT_EQ(map->find(b)->bytes, 200u);
  EXPECT_LT(map->find(a)->id, map->find(b)->id);
  EXPECT_FALSE(map->find(a + 100));
  EXPECT_FALSE(map->find(a - 1));
}

// An index that runs past the end must not land in the neighbour.
TEST_F(Memory, NothingLiesRightBehindAnAllocation) {
  const AllocationKind kinds[] = {AllocationKind::device, AllocationKind::managed};
  for (const AllocationKind first : kinds)
    for (const AllocationKind second : kinds)
      for (const uint64_t bytes : {uint64_t{1}, uint64_t{512}, kPage, 4 * kPage, 8 * kMega}) {
        const uint64_t a = allocate(bytes, first), b = allocate(bytes, second);
        for (const uint64_t beyond : {0, 255, 511}) {
          EXPECT_FALSE(map->find(a + bytes + beyond)) << bytes << " + " << beyond;
          EXPECT_FALSE(map->find(b + bytes + beyond)) << bytes << " + " << beyond;
        }
        EXPECT_TRUE(map->free(a).ok());
        EXPECT_TRUE(map->free(b).ok());
      }
}

TEST_F(Memory, TheHostReachesManagedMemoryAtItsAddressAndDeviceMemoryOnlyBeside) {
  const uint64_t managed = allocate(64, AllocationKind::managed), device = allocate(64);
  EXPECT_EQ(reinterpret_cast<uint64_t>(map->find(managed)->host), managed);
  *reinterpret_cast<volatile int*>(managed) = 7;
  EXPECT_EQ(*reinterpret_cast<volatile int*>(managed), 7);

  EXPECT_TRUE(map->in_window(device));
  *map->find(device)->host = 7;  // the engine's way
  EXPECT_DEATH((void)*reinterpret_cast<volatile char*>(device), "");
  ASSERT_TRUE(map->free(managed).ok());
  EXPECT_DEATH((void)*reinterpret_cast<volatile char*>(managed), "");
}

TEST_F(Memory, CapacityIsWhatIsLeft) {
  const uint64_t a = allocate(60 * kMega);
  EXPECT_EQ(map->used(), 60 * kMega);
  const Result<uint64_t> more = map->allocate(5 * kMega, AllocationKind::device);
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().message.find("out of device memory"), std::string::npos);
  allocate(4 * kMega);
  ASSERT_TRUE(map->free(a).ok());
  EXPECT_EQ(map->used(), 4 * kMega);
  EXPECT_FALSE(map->allocate(~uint64_t{0}, AllocationKind::device).ok());
  EXPECT_FALSE(map->allocate(~uint64_t{0}, AllocationKind::host).ok());
}

// When the system refuses the pages, the addresses stay free.
TEST_F(Memory, RefusedManagedMemoryCostsNoAddresses) {
  const uint64_t first = allocate(kMega, AllocationKind::managed);
  ASSERT_TRUE(map->free(first).ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit little{1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
  const bool refused = !map->allocate(kMega, AllocationKind::managed).ok();
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_TRUE(refused);
  EXPECT_EQ(map->used(), 0u);
  EXPECT_EQ(allocate(kMega, AllocationKind::managed), first);
}

TEST_F(Memory, NeighbouringHolesBecomeOne) {
  const uint64_t a = allocate(1000), b = allocate(1000), c = allocate(1000);
  for (const uint64_t address : {b, a, c}) ASSERT_TRUE(map->free(address).ok());
  EXPECT_EQ(allocate(3000), a);
}

TEST_F(Memory, OnlyTheStartOfALiveAllocationCanBeFreed) {
  const uint64_t a = allocate(100);
  EXPECT_FALSE(map->free(a + 4).ok());
  EXPECT_TRUE(map->free(a).ok());
  EXPECT_FALSE(map->free(a).ok());
  EXPECT_FALSE(map->find(a));
}

TEST_F(Memory, HostMemoryIsRegisteredOnce) {
  std::vector<char> bytes(1000);
  const auto at = reinterpret_cast<uint64_t>(bytes.data());
  ASSERT_TRUE(map->register_host(bytes.data(), 500).ok());
  EXPECT_EQ(map->find(at + 499)->host, reinterpret_cast<uint8_t*>(bytes.data()));
  EXPECT_FALSE(map->find(at + 500));
  EXPECT_FALSE(map->in_window(at));
  EXPECT_FALSE(map->register_host(bytes.data() + 499, 10).ok());
  EXPECT_TRUE(map->register_host(bytes.data() + 500, 500).ok());
  EXPECT_TRUE(map->free(at).ok());
  EXPECT_EQ(map->used(), 0u);
}

TEST_F(Memory, TheNearestAllocationIsNamed) {
  EXPECT_FALSE(map->nearest(0));
  const uint64_t a = allocate(100), b = allocate(100);
  EXPECT_EQ(map->nearest(a + 120)->address, a);
  EXPECT_EQ(map->nearest(b - 20)->address, b);
  EXPECT_EQ(map->nearest(a - 5000)->address, a);
  EXPECT_EQ(map->nearest(b + 5000)->address, b);
}

TEST_F(Memory, TheHeapOfDeviceMallocHasALimit) {
  map->set_heap_limit(1000);
  const uint64_t first = *map->allocate_on_heap(601);  // takes 608
  EXPECT_FALSE(map->allocate_on_heap(400).ok());
  EXPECT_TRUE(map->allocate_on_heap(380).ok());  // 384
  EXPECT_FALSE(map->allocate_on_heap(1).ok());
  ASSERT_TRUE(map->free(first).ok());
  EXPECT_TRUE(map->allocate_on_heap(600).ok());
  EXPECT_GT(allocate(kMega), 0u);  // cudaMalloc is not part of it
}

TEST_F(Memory, APeersAllocationsAreFoundWhileItIsOne) {
  std::unique_ptr<MemoryMap> other = std::move(MemoryMap::create(64 * kMega)).value();
  const uint64_t a = *other->allocate(100, AllocationKind::device);
  EXPECT_FALSE(map->find(a));
  map->set_peer(*other, true);
  ASSERT_TRUE(map->find(a + 99));
  EXPECT_EQ(map->find(a)->host, other->find(a)->host);
  EXPECT_FALSE(map->find(a + 100));
  EXPECT_FALSE(other->find(allocate(8)));  // one direction only
  map->set_peer(*other, false);
  EXPECT_FALSE(map->find(a));
}

class KeepsFreed final : public ObserverSource {
 public:
  uint8_t wanted(const Launch&) override { return 0; }
  Observer* launch_begin(const Launch&, const Program&, uint32_t) override { return nullptr; }
  bool keeps_freed() const override { return true; }
};

TEST(KeptMemory, IsFreeButNotGivenOutAgainAsLongAsThereIsRoom) {
  KeepsFreed observer;
  auto created = MemoryMap::create(64 * kMega, &observer);
  ASSERT_TRUE(created.ok());
  const std::unique_ptr<MemoryMap> map = std::move(*created);
  std::vector<uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    const Result<uint64_t> a = map->allocate(1000, AllocationKind::device);
    ASSERT_TRUE(a.ok());
    EXPECT_EQ(map->used(), 1000u);
    for (const uint64_t old : seen) EXPECT_NE(*a, old);
    seen.push_back(*a);
    EXPECT_FALSE(map->find(*a - 1));
    ASSERT_TRUE(map->free(*a).ok());
    EXPECT_FALSE(map->find(*a));
    EXPECT_FALSE(map->free(*a).ok());
    EXPECT_EQ(map->used(), 0u);
  }
  // All of it can be had again and again, in whatever kinds: kept ranges give way.
  for (int i = 0; i < 200; ++i) {
    const auto kind = i % 2 ? AllocationKind::managed : AllocationKind::device;
    const Result<uint64_t> a = map->allocate(64 * kMega, kind);
    ASSERT_TRUE(a.ok()) << i << ": " << a.error().to_string();
    ASSERT_TRUE(map->free(*a).ok());
  }
}

}  // namespace
}  // namespace tw::emu
