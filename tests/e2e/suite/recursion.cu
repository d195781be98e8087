// Functions that call themselves: directly, through one another, through virtual functions, with
// arrays of their own whose addresses they hand down, every lane to its own depth.
#include <algorithm>

#include "suite.h"

#define HD __host__ __device__ __noinline__

HD unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

HD unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

HD bool odd(unsigned n);
HD bool even(unsigned n) { return n == 0 ? true : odd(n - 1); }
HD bool odd(unsigned n) { return n == 0 ? false : even(n - 1); }

HD void quicksort(int* a, int low, int high) {
  while (low < high) {
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (a[i] < pivot) i++;
      while (a[j] > pivot) j--;
      if (i <= j) {
        int t = a[i];
        a[i++] = a[j];
        a[j--] = t;
      }
    }
    quicksort(a, low, j);
    low = i;
  }
}

// Every activation has an array of its own, which the ones below write to.
HD long long digits(int depth, int* above) {
  int mine[4] = {depth, 0, 0, 0};
  if (depth == 0) {
    above[1] = 7;
    return 1;
  }
  long long left = digits(depth - 1, mine), middle = mine[1];
  long long right = digits(depth - 1, &mine[1]);
  above[1] += mine[0] + mine[2];
  return left * 3 + right * 5 + middle + mine[2];
}

// Double, float, predicate, short and struct values that live across a call.
struct Pair {
  double a;
  float b;
  short c;
};
HD Pair mixed(Pair p, int n, bool up) {
  if (n == 0) return p;
  Pair half = mixed({p.a * 0.5, p.b + 1.0f, short(p.c - 3)}, n - 1, !up);
  bool again = (n & 1) != 0;
  Pair other = mixed({half.a + p.a, p.b, half.c}, n / 2, again);
  return {up ? half.a : other.a, again ? half.b + p.b : other.b - p.b, short(half.c ^ other.c)};
}

struct Node {
  HD virtual ~Node() {}
  HD virtual float value(float x) const = 0;
};
struct Variable : Node {
  HD float value(float x) const override { return x; }
};
struct Sum : Node {
  const Node *a, *b;
  HD Sum(const Node* l, const Node* r) : a(l), b(r) {}
  HD float value(float x) const override { return a->value(x) + b->value(x + 1.0f); }
};
struct Product : Node {
  const Node *a, *b;
  HD Product(const Node* l, const Node* r) : a(l), b(r) {}
  HD float value(float x) const override { return a->value(x) * b->value(x); }
};
HD float expression(float x) {
  Variable v;
  Sum s(&v, &v);
  Product p(&s, &v);
  Sum t(&p, &s);
  Product u(&t, &p);
  const Node* tops[3] = {&s, &t, &u};
  return tops[int(x) % 3]->value(x);
}

constexpr int kThreads = 70, kSorted = 40;

__global__ void numbers(unsigned* fib, unsigned* ack, int* parity, long long* digit) {
  int t = threadIdx.x;
  fib[t] = fibonacci(t % 13);
  ack[t] = ackermann(t % 3, t % 7);
  parity[t] = t % 2 ? even(t) : odd(t * 3);
  int top[4] = {0, 0, 0, 0};
  digit[t] = digits(t % 6, top) + top[1];
}
__global__ void sort(int* a) { quicksort(a + threadIdx.x * kSorted, 0, kSorted - 1); }
__global__ void values(Pair* pairs, float* expressions) {
  int t = threadIdx.x;
  pairs[t] = mixed({t * 1.25, t * 0.5f, short(t * 77)}, t % 9, t % 2 == 0);
  expressions[t] = expression(float(t));
}
// Printing on the way down and up, a barrier at the bottom.
__device__ __noinline__ int stairs(int n, int* shared) {
  if (n == 0) {
    __syncthreads();
    return shared[threadIdx.x ^ 1];
  }
  if (threadIdx.x == 0) printf("down %d\n", n);
  int below = stairs(n - 1, shared);
  if (threadIdx.x == 0) printf("up %d %d\n", n, below);
  return below + n;
}
__global__ void with_barrier(int* out) {
  __shared__ int shared[64];
  shared[threadIdx.x] = 100 * threadIdx.x;
  out[threadIdx.x] = stairs(3, shared);
}

int main() {
  DeviceArray<unsigned> fib(kThreads), ack(kThreads);
  DeviceArray<int> parity(kThreads), stair(64);
  DeviceArray<long long> digit(kThreads);
  DeviceArray<Pair> pairs(kThreads);
  DeviceArray<float> expressions(kThreads);
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
  numbers<<<1, kThreads>>>(fib, ack, parity, digit);
  SYNC();
  std::vector<unsigned> wf, wa;
  std::vector<int> wp;
  std::vector<long long> wd;
  for (int t = 0; t < kThreads; t++) {
    wf.push_back(fibonacci(t % 13));
    wa.push_back(ackermann(t % 3, t % 7));
    wp.push_back(t % 2 ? even(t) : odd(t * 3));
    int top[4] = {0, 0, 0, 0};
    long long d = digits(t % 6, top);
    wd.push_back(d + top[1]);
  }
  expect_equal(fib.host(), wf, "fibonacci");
  expect_equal(ack.host(), wa, "ackermann");
  expect_equal(parity.host(), wp, "even and odd");
  expect_equal(digit.host(), wd, "arrays of every activation");

  std::vector<int> unsorted(kThreads * kSorted);
  for (size_t i = 0; i < unsorted.size(); i++) unsorted[i] = int(hash(unsigned(i)) % 2000) - 1000;
  std::vector<int> sorted = unsorted;
  DeviceArray<int> array(unsorted);
  sort<<<1, kThreads>>>(array);
  SYNC();
  for (int t = 0; t < kThreads; t++)
    std::sort(sorted.begin() + t * kSorted, sorted.begin() + (t + 1) * kSorted);
  expect_equal(array.host(), sorted, "quicksort");

  values<<<1, kThreads>>>(pairs, expressions);
  SYNC();
  std::vector<Pair> got = pairs.host();
  std::vector<double> ga, wda;
  std::vector<float> gb, wb, we;
  std::vector<int> gc, wc;
  for (int t = 0; t < kThreads; t++) {
    Pair w = mixed({t * 1.25, t * 0.5f, short(t * 77)}, t % 9, t % 2 == 0);
    ga.push_back(got[t].a), gb.push_back(got[t].b), gc.push_back(got[t].c);
    wda.push_back(w.a), wb.push_back(w.b), wc.push_back(w.c);
    we.push_back(expression(float(t)));
  }
  expect_equal(ga, wda, "doubles across calls");
  expect_equal(gb, wb, "floats across calls");
  expect_equal(gc, wc, "shorts across calls");
  expect_equal(expressions.host(), we, "virtual functions that call virtual functions");

  with_barrier<<<1, 64>>>(stair);
  SYNC();
  std::vector<int> ws;
  for (int t = 0; t < 64; t++) ws.push_back(100 * (t ^ 1) + 6);
  expect_equal(stair.host(), ws, "a barrier at the bottom");
  return verdict();
}
