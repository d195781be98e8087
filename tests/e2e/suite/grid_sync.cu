// A cooperative launch: all blocks meet between the steps of one kernel; grids too large are
// refused.
#include <cooperative_groups.h>

#include "suite.h"

namespace cg = cooperative_groups;

__global__ void relax(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int k = 0; k < steps; k++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size())
      b[i] = (a[(i + n - 1) % n] + 2 * a[i] + a[(i + 1) % n]) * 0.25f;
    grid.sync();
    float* t = a;
    a = b, b = t;
  }
}

int main() {
  int n = 3000, steps = 6;
  std::vector<float> h = random_floats(n), next(n);
  DeviceArray<float> a(h), b(n);
  float *pa = a, *pb = b;
  void* arguments[] = {&pa, &pb, &n, &steps};
  CHECK(cudaLaunchCooperativeKernel((void*)relax, dim3(10), dim3(128), arguments, 0, 0));
  SYNC();
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < n; i++) next[i] = (h[(i + n - 1) % n] + 2 * h[i] + h[(i + 1) % n]) * 0.25f;
    std::swap(h, next);
  }
  expect_near(a.host(), h, 1e-6, "relaxation");
  expect(cudaLaunchCooperativeKernel((void*)relax, dim3(1 << 20), dim3(128), arguments, 0, 0) ==
             cudaErrorCooperativeLaunchTooLarge,
         "too many blocks");
  cudaGetLastError();
  return verdict();
}
