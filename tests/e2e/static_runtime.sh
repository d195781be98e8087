#!/bin/bash
# Programs as plain `nvcc` makes them, with NVIDIA's runtime linked in: they run, are checked and profiled like
# those with the shared one. Stripped ones are refused with the command that rebuilds them.
#   static_runtime.sh TILEWRIGHT NVCC SOURCE_FOLDER WORK_FOLDER
set -uo pipefail
tilewright=$1 nvcc=$2 source=$3 work=$4
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
failures=0

# expect STATUS PATTERN command...: the status, and a line of stdout or stderr that matches.
expect() {
  local status=$1 pattern=$2 got
  shift 2
  "$@" >out.txt 2>&1
  got=$?
  if [[ $got != "$status" ]]; then
    echo "FAIL: status $got instead of $status: $*"; cat out.txt; failures=$((failures + 1))
  elif ! grep -qE -e "$pattern" out.txt; then
    echo "FAIL: no '$pattern': $*"; cat out.txt; failures=$((failures + 1))
  fi
}

# Two objects with a fat binary each: constructors of both register before main, and one of the
# program's own constructors already calls the runtime.
cat >scale.cu <<'CU'
__device__ int factor = 3;
__global__ void scale(int* p) { p[threadIdx.x] *= factor; }
void launch_scale(int* p, int n, bool wrong) { scale<<<1, wrong ? n + 1 : n>>>(p); }
CU
cat >main.cu <<'CU'
#include <cstdio>
void launch_scale(int* p, int n, bool wrong);
__global__ void number(int* p) { p[threadIdx.x] = int(threadIdx.x); }
struct Early {
  int devices = 0;
  Early() { cudaGetDeviceCount(&devices); }
} early;
int main(int argc, char**) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  int *p, sum = 0, h[64];
  cudaMalloc(&p, sizeof h);
  number<<<1, 64>>>(p);
  launch_scale(p, 64, argc > 1);
  cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
  for (int v : h) sum += v;
  printf("sum %d, %d device, %s\n", sum, early.devices, properties.name);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
CU
"$nvcc" -lineinfo main.cu scale.cu -o two && "$nvcc" -rdc=true main.cu scale.cu -o linked -Xcompiler -no-pie &&
  "$nvcc" "$source/examples/vector_add.cu" -o vector_add && cp two stripped && strip stripped || exit 1

expect 0 'sum 6048, 1 device, NVIDIA H200' "$tilewright" run two
expect 0 'sum 6048, 1 device, NVIDIA H200' "$tilewright" run ./linked
expect 0 '' "$tilewright" run vector_add
expect 0 'no findings' "$tilewright" check two
expect 1 'oob-global: read of 4 bytes just past the end of the allocation of 256' "$tilewright" check two -- wrong
# The host's line is the caller of the kernel, not what nvcc puts in between.
expect 1 'launched: launch_scale\(int' "$tilewright" check two -- wrong
grep -q 'scale.cu:2' out.txt || { echo "FAIL: no source line"; failures=$((failures + 1)); }
expect 0 'number' "$tilewright" profile two
expect 2 'stripped.*' "$tilewright" run ./stripped
grep -q 'nvcc -cudart shared -o ./stripped' out.txt || { echo "FAIL: no rebuild command"; failures=$((failures + 1)); }

echo "$failures failures"
exit $((failures > 0))
