// Source of calls.ptx (nvcc -ptx -arch=sm_90), debug.ptx (the same with -G) and inlined.ptx (with
// -lineinfo): printf, assert, indirect calls, structures by value, initialisers with addresses.
#include <cassert>
#include <cstdio>

struct Node {
  int value;
  Node* next;
  float weight;
  const char* text;
};
struct __attribute__((packed)) Packed {
  char tag;
  const void* where;
};

__device__ int grid[3][4] = {{1, 2}, {3}, {4, 5, 6, 7}};
__device__ Node tail;
__device__ Node head = {5, &tail, 1.5f, "head"};
__device__ Packed packed = {1, &grid[1][2]};
__constant__ float factors[4] = {1.f, 2.f};
__managed__ int counter = 4;
__device__ double ratio = 2.5;

__device__ __noinline__ int multiply(int a, Node n) { return a * n.value; }
__device__ __noinline__ int add(int a, Node n) { return a + n.value; }
using Function = int (*)(int, Node);
__device__ Function functions[2] = {multiply, add};

__device__ float scale(float x) { return x * factors[threadIdx.x & 3]; }
__device__ float twice(float x) { return scale(x) + scale(x + 1); }

__global__ void __launch_bounds__(128, 2) calls(float* out, int n, Node node) {
  extern __shared__ int dynamic[];
  __shared__ float tile[8][9];
  tile[threadIdx.x & 7][threadIdx.y & 7] = out[0];
  __syncthreads();
  out[1] = twice(out[2]);
  printf("%d %f\n", n, out[0]);
  assert(n > 0);
  dynamic[0] = functions[n & 1](n, node);
  out[3] = tile[threadIdx.y & 7][threadIdx.x & 7] + dynamic[1] + counter + ratio + head.value +
           packed.tag;
}
