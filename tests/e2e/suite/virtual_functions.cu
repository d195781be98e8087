// Objects made with device new, virtual functions, templates over them, and deletion on the device.
#include "suite.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Circle : Shape {
  float r;
  __device__ explicit Circle(float radius) : r(radius) {}
  __device__ float area() const override { return 3 * r * r; }
};
template <int n> struct Polygon : Shape {
  float side;
  __device__ explicit Polygon(float s) : side(s) {}
  __device__ float area() const override { return n == 4 ? side * side : n * side; }
  __device__ int corners() const override { return n; }
};

__global__ void make(Shape** shapes) {
  int t = threadIdx.x;
  if (t % 3 == 0)
    shapes[t] = new Circle(float(t));
  else if (t % 3 == 1)
    shapes[t] = new Polygon<4>(float(t));
  else
    shapes[t] = new Polygon<6>(float(t));
}
__global__ void measure(Shape* const* shapes, float* areas, int* corners) {
  int t = threadIdx.x;
  areas[t] = shapes[t]->area(), corners[t] = shapes[t]->corners();
}
__global__ void destroy(Shape** shapes) { delete shapes[threadIdx.x]; }

int main() {
  const int n = 64;
  DeviceArray<Shape*> shapes(n);
  DeviceArray<float> areas(n);
  DeviceArray<int> corners(n);
  make<<<1, n>>>(shapes);
  measure<<<1, n>>>(shapes, areas, corners);
  destroy<<<1, n>>>(shapes);
  SYNC();
  std::vector<float> wa(n);
  std::vector<int> wc(n);
  for (int t = 0; t < n; t++)
    wa[t] = float(t % 3 == 0   ? 3 * t * t
                  : t % 3 == 1 ? t * t
                               : 6 * t),
    wc[t] = t % 3 == 0   ? 0
            : t % 3 == 1 ? 4
                         : 6;
  expect_equal(areas.host(), wa, "areas");
  expect_equal(corners.host(), wc, "corners");
  return verdict();
}
