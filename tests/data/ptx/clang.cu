// Source of clang.ptx: clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc
// -nocudalib -S -O2 -gline-tables-only
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
typedef float f4 __attribute__((ext_vector_type(4)));
__constant__ float cf[2][3] = {{1, 2}, {3}};
struct S {
  int a;
  const char* s;
  double d;
  char t[5];
};
__device__ int target;
__device__ S ss[2] = {{1, "abc", 2.5, "xyz"}, {2, 0, 1e300, "q"}};
__device__ const void* pt[3] = {&target, (char*)&target + 2, cf};
extern "C" __device__ int printf_(const char*, ...);
__device__ __attribute__((noinline)) int rec(int n) { return n < 2 ? n : rec(n - 1) + rec(n - 2); }
__device__ __attribute__((noinline)) S mk(int a) {
  S s = ss[a & 1];
  s.a += a;
  return s;
}
typedef int (*fp)(int);
__device__ fp tab[1] = {rec};
__global__ void k(f4* p, int n, S s) {
  __shared__ float sm[64];
  int t = __nvvm_read_ptx_sreg_tid_x();
  sm[t] = p[t].x;
  __syncthreads();
  p[t] = p[t] * sm[n] + cf[n & 1][t & 1];
  p[1].y = rec(n);
  S r = mk(n);
  p[2].z = r.d + s.d;
  p[3].x = tab[n & 0](n);
  int loc[16];
  for (int i = 0; i < 16; ++i) loc[i] = n * i;
  p[4].x = loc[t & 15];
  switch (n) {
    case 0: p[9].x = 1; break;
    case 1: p[8].y = t / n; break;
    case 2: p[7].z = t % n; break;
    case 3: p[6].w = t * t; break;
    case 4: p[5].x = n; break;
    case 5: p[1].x = n + t; break;
  }
  asm volatile("{ .reg .pred q; setp.ne.s32 q, %0, 0; @q bra L; trap; L: }" ::"r"(n));
  asm volatile("{ .reg .pred q; setp.ne.s32 q, %0, 0; @q bra L; trap; L: }" ::"r"(t));
  if (n == 77) printf_("x", n);
}
