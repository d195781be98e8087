#include "report/kinds.h"

namespace tw::report {
namespace {

constexpr FindingKind kKinds[] = {
    {"oob-global", "memcheck", "Access outside of every allocation",
     "A kernel accesses global memory that belongs to no allocation, reaches past the end of one, "
     "or "
     "lies on a device to which it has no access.",
     "Guard the access with the bounds of the array, or correct the index."},
    {"oob-shared", "memcheck", "Access outside of a shared array",
     "A kernel accesses shared memory past what its block has, or another shared array than the "
     "one "
     "it names.",
     "Correct the index, make the array larger, or give the launch as much dynamic shared memory "
     "as "
     "the kernel uses."},
    {"oob-local", "memcheck", "Access outside of local memory",
     "A thread accesses local memory (an array in a function) past its end.",
     "Correct the index, or make the array larger."},
    {"misaligned", "memcheck", "Misaligned access",
     "The address of an access is no multiple of its size.",
     "Align the address, or access smaller elements."},
    {"use-after-free", "memcheck", "Access to freed memory",
     "A kernel accesses memory that has been freed and not been given out again.",
     "Free the memory after the last kernel that uses it."},
    {"host-access", "memcheck", "Memory of the wrong side",
     "A kernel accesses ordinary memory of the host program, or host code dereferences a device "
     "pointer.",
     "Allocate with cudaMalloc, cudaMallocManaged or cudaMallocHost, and copy the data."},
    {"invalid-free", "memcheck", "Invalid free",
     "Memory is freed twice, by an address that is no allocation's, or by the wrong call.",
     "Free each allocation once, by the call that belongs to its allocation."},
    {"leak", "memcheck", "Memory never freed",
     "The program ends without having freed the memory (--leak-check full).",
     "Free the memory before the program ends."},
    {"api-error", "memcheck", "Ignored error of a CUDA call",
     "A CUDA call failed, and the program never asked for the error.",
     "Check the result of the call; after a launch call cudaGetLastError()."},
    {"kernel-fault", "memcheck", "Kernel ended by a fault",
     "A kernel ended by assert, trap, or a call through a pointer to no function.",
     "See the message for the place and the reason."},
    {"race-shared", "racecheck", "Race on shared memory",
     "Two threads access the same bytes of shared memory, at least one of them writing, and "
     "nothing "
     "orders the two.",
     "Put __syncthreads() between the two accesses, or __syncwarp() if both are of one warp."},
    {"proxy-fence", "racecheck", "Missing fence of the asynchronous proxy",
     "A product of wgmma or a bulk copy reads shared memory that a thread has written, without a "
     "fence.proxy.async between the two: it may read what was there before.",
     "Put fence.proxy.async.shared::cta behind the write, before the barrier that lets the other "
     "go on."},
    {"race-global", "racecheck", "Race on global memory",
     "Two threads, kernels or calls access the same bytes of global memory, at least one of them "
     "writing, and nothing orders the two.",
     "Order the two: the end of a kernel, an event between streams, grid.sync(), a flag that is "
     "released and acquired with sufficient scope; or use atomic operations."},
    {"incomplete-check", "racecheck", "Launch not checked to its end",
     "racecheck ran out of records of accesses; what came after them in this launch was not looked "
     "at.",
     "Check a smaller problem, or this kernel alone (--kernel)."},
    {"uninit-global", "initcheck", "Read of unwritten global memory",
     "A kernel reads bytes of device memory that neither a kernel nor a call has written.",
     "Initialise the memory with cudaMemcpy, cudaMemset or a kernel."},
    {"uninit-shared", "initcheck", "Read of unwritten shared memory",
     "A thread reads bytes of shared memory that no thread of its block has written.",
     "Let a thread of the block write them before the barrier that precedes the read: zero outside "
     "of the data."},
    {"uninit-local", "initcheck", "Read of unwritten local memory",
     "A thread reads bytes of its local memory that it has not written.",
     "Initialise the variable, or every element of the array."},
    {"barrier-divergence", "synccheck", "Barrier not reached by all threads",
     "Threads of a block have exited before a barrier, do not reach it, or meet at two barriers.",
     "Let every thread reach the same barrier: guard the work, not the barrier."},
    {"invalid-sync", "synccheck", "Misused synchronisation",
     "A named barrier, an mbarrier or the mask of a warp operation is used against its rules.",
     "See the message: correct the count, the initialisation or the mask."},
    {"deadlock", "synccheck", "Deadlock of a launch",
     "No thread of the launch can go on; each waits for what will not happen.",
     "Every thread that has not exited must reach the barrier, and every lane that a mask names "
     "the "
     "same instruction."},
};

}  // namespace

std::span<const FindingKind> finding_kinds() { return kKinds; }

}  // namespace tw::report
