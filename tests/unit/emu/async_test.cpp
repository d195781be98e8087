// What goes on beside the program on a GPU: waits for products of a warpgroup, bulk copies.
#include <gtest/gtest.h>

#include "kernel_runner.h"

namespace tw::emu {
namespace {

// The first warp waits for products of the whole warpgroup; the others commit fewer groups, and
// wait for it: for words that it writes afterwards, or at a barrier.
TEST(Warpgroup, AWaitForProductsEnds) {
  for (const char* others : {R"(
  again:
    ld.volatile.shared.u32 %value, [%r9];
    setp.eq.u32 %p2, %value, 0;
    @%p2 bra again;)",
                             "bar.sync 1, 128;"}) {
    KernelRunner runner;
    const std::string body = kPrologue + R"(
    .shared .align 4 .u32 flag;
    mov.u32 %r9, flag;
    st.volatile.shared.u32 [%r9], 0;
    bar.sync 0;
    wgmma.commit_group.sync.aligned;
    setp.ge.u32 %p1, %tid32, 32;
    @%p1 bra others;
    wgmma.commit_group.sync.aligned;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    st.volatile.shared.u32 [%r9], 7;)" +
                             (others[0] == 'b' ? others : "") + R"(
    bra done;
  others:
    wgmma.wait_group.sync.aligned 0;
    )" + others + R"(
  done:
    mov.u32 %value, 7;)" + kEpilogue;
    EXPECT_EQ(runner.words(body, 128), std::vector<uint32_t>(128, 7)) << others;
  }
}

TEST(BulkCopy, HugeSizesEndTheKernel) {
  for (const uint32_t bytes : {1u << 24, 1u << 31, 0xfffffff0u}) {
    KernelRunner runner;
    const std::string size = std::to_string(bytes);
    for (const std::string& copy :
         {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%in], " +
              size + ", [%r8];",
          "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r9], " + size + ";",
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r9], " +
              size + ", [%r8];"}) {
      const Status s = runner.load(kPrologue + R"(
    .shared .align 16 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    mov.u32 %r9, tile;
    mov.u32 %r8, bar;
    mbarrier.init.shared::cta.b64 [%r8], 1;
    mov.u32 %value, 0;)" + copy + kEpilogue);
      ASSERT_TRUE(s.ok()) << s.error().to_string();
      const uint64_t memory = runner.buffer(std::vector<uint32_t>(1024));
      const Fault f = runner.run({1, 1, 1}, {1, 1, 1}, {memory, memory});
      EXPECT_EQ(f.kind, FaultKind::illegal_address) << copy << f.message;
    }
  }
}

}  // namespace
}  // namespace tw::emu
