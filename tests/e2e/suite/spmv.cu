// Sparse matrix times vector, compressed rows: a thread a row, a warp a row; and a scatter by
// double-precision atomics from coordinates.
#include "suite.h"

__global__ void thread_per_row(int rows, const int* begin, const int* column, const double* value,
                               const double* x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (int k = begin[r]; k < begin[r + 1]; k++) sum += value[k] * x[column[k]];
  y[r] = sum;
}
__global__ void warp_per_row(int rows, const int* begin, const int* column, const double* value,
                             const double* x, double* y) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  double sum = 0;
  for (int k = begin[r] + lane; k < begin[r + 1]; k += 32) sum += value[k] * __ldg(&x[column[k]]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) y[r] = sum;
}
__global__ void coordinates(int n, const int* row, const int* column, const double* value,
                            const double* x, double* y) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) atomicAdd(&y[row[k]], value[k] * x[column[k]]);
}

int main() {
  const int rows = 700, columns = 500;
  std::vector<int> begin{0}, row, column;
  std::vector<double> value, x(columns), wanted(rows);
  for (int c = 0; c < columns; c++) x[c] = hash(c) % 1000 / 100.0;
  for (int r = 0; r < rows; r++) {
    int length = r % 50 == 7 ? 150 : int(hash(r + 1000) % 9);  // some long rows, some empty
    for (int k = 0; k < length; k++) {
      row.push_back(r), column.push_back(int(hash(r * 1000 + k) % columns)),
          value.push_back(int(hash(k * 777 + r) % 200) - 100);
      wanted[r] += value.back() * x[column.back()];
    }
    begin.push_back(int(column.size()));
  }
  int n = int(value.size());
  DeviceArray<int> dbegin(begin), drow(row), dcolumn(column);
  DeviceArray<double> dvalue(value), dx(x), a(rows), b(rows), c(rows);
  thread_per_row<<<(rows + 127) / 128, 128>>>(rows, dbegin, dcolumn, dvalue, dx, a);
  warp_per_row<<<(rows + 3) / 4, 128>>>(rows, dbegin, dcolumn, dvalue, dx, b);
  coordinates<<<(n + 255) / 256, 256>>>(n, drow, dcolumn, dvalue, dx, c);
  SYNC();
  expect_near(a.host(), wanted, 1e-11, "a thread a row");
  expect_near(b.host(), wanted, 1e-11, "a warp a row");
  expect_near(c.host(), wanted, 1e-11, "coordinates and atomics");
  return verdict();
}
