// transpose_in_place().
//
// Square: a CTA takes a pair of tiles that mirror each other, reads both, writes both.
// Rectangular: the decomposition of Catanzaro, Keller and Garland ("A decomposition for in-place
// matrix transposition", PPoPP 2014): with c = gcd(m, n), a = m/c, b = n/c the transpose of a dense
// m x n array is a rotation of every column j by floor(j/b), a permutation of every row i, a
// permutation of every column j:
//   A'[i][j] = A[(i + floor(j/b)) mod m][j]
//   A'[i][d_i(j)] = A[i][j],  d_i(j) = ((i + floor(j/b)) mod m + j m) mod n
//   A'[i][j] = A[s_j(i)][j],  s_j(i) = (j + i n - floor(i/a)) mod m
// Columns or rows are independent: a CTA takes one row, or a strip of columns 32 to 128 bytes wide,
// into shared memory and writes it back in the new order; strips and rows that do not fit go
// through the CTA's slice of the workspace. Indices advance by addition: no division but one for
// each strip and thread. For m > n the inverse permutations run in reverse order on the n x m view:
// columns are then the short side. Limits: three passes, so a third of the copy rate at best.
// Alternatives: one cycle of the permutation at a time (no workspace, no locality).
//
// Tested by `tilewright-bench transpose --suite verify`.
#include <algorithm>
#include <numeric>

#include "launch.h"
#include "tilewright/transpose.h"

namespace tilewright::detail {
namespace {

constexpr int kThreads = 256;

template <int kElement> constexpr int kSquareTile = kElement <= 4 ? 64 : 32;

// Index of the pair -> (i, j), j <= i, in the lower triangle of tiles.
__device__ __forceinline__ void triangle(uint32_t pair, uint32_t& i, uint32_t& j) {
  i = uint32_t((sqrt(8.0 * pair + 1.0) - 1.0) * 0.5);
  while (uint64_t(i) * (i + 1) / 2 > pair) --i;
  while (uint64_t(i + 1) * (i + 2) / 2 <= pair) ++i;
  j = pair - uint32_t(uint64_t(i) * (i + 1) / 2);
}

template <int kElement>
__global__ void __launch_bounds__(kThreads)
    square_kernel(char* data, int64_t row_bytes, int64_t n) {
  using Item = typename Unsigned<kElement>::Type;
  constexpr int kTile = kSquareTile<kElement>, kPitch = kTile + 1;
  __shared__ Item lower[kTile * kPitch], upper[kTile * kPitch];
  wait_for_kernel_before();
  uint32_t ti, tj;
  triangle(blockIdx.x, ti, tj);
  const int64_t row = int64_t(ti) * kTile, col = int64_t(tj) * kTile;
  const int height = int(min(int64_t(kTile), n - row)), width = int(min(int64_t(kTile), n - col));
  char* at = data + row * row_bytes + col * kElement;      // height x width
  char* mirror = data + col * row_bytes + row * kElement;  // width x height
  for (int u = threadIdx.x; u < kTile * kTile; u += kThreads) {
    const int r = u / kTile, c = u % kTile;
    if (r < height && c < width)
      lower[r * kPitch + c] = load<Item>(at + r * row_bytes + c * kElement);
    if (ti != tj && r < width && c < height)
      upper[r * kPitch + c] = load<Item>(mirror + r * row_bytes + c * kElement);
  }
  __syncthreads();
  const Item* other = ti == tj ? lower : upper;
  for (int u = threadIdx.x; u < kTile * kTile; u += kThreads) {
    const int r = u / kTile, c = u % kTile;
    if (r < height && c < width)
      store<Item>(at + r * row_bytes + c * kElement, other[c * kPitch + r]);
    if (ti != tj && r < width && c < height)
      store<Item>(mirror + r * row_bytes + c * kElement, lower[c * kPitch + r]);
  }
}

constexpr int kRectangleThreads = 1024;

struct Rectangle {
  char* data;
  char* workspace;     // null: slices are in shared memory
  int64_t slice;       // elements of workspace a CTA owns
  int64_t m, n;        // the view: m rows (the short side) of n
  int64_t a, b;        // m / gcd, n / gcd
  Divisor by_a, by_b;  // where n < 2^31
  int log_width;       // columns of a strip
};

enum class Step { kRotate, kUnrotate, kColumns, kUncolumns, kRows, kUnrows };

extern __shared__ __align__(16) char shared_slice[];

template <class Item> __device__ __forceinline__ Item* slice_of(const Rectangle& x) {
  return x.workspace ? reinterpret_cast<Item*>(x.workspace) + int64_t(blockIdx.x) * x.slice
                     : reinterpret_cast<Item*>(shared_slice);
}
// a + b modulo `modulus`; both below it.
__device__ __forceinline__ int64_t add_modulo(int64_t a, int64_t b, int64_t modulus) {
  const int64_t sum = a + b;
  return sum >= modulus ? sum - modulus : sum;
}
template <bool kLarge>
__device__ __forceinline__ int64_t quotient(int64_t n, int64_t divisor, const Divisor& by) {
  return kLarge ? n / divisor : int64_t(by.quotient(uint32_t(n)));
}

template <int kElement, Step kStep, bool kLarge>
__global__ void __launch_bounds__(kRectangleThreads)
    permute_columns(const __grid_constant__ Rectangle x) {
  using Item = typename Unsigned<kElement>::Type;
  wait_for_kernel_before();
  Item* slice = slice_of<Item>(x);
  const int column = threadIdx.x & ((1 << x.log_width) - 1);
  const int64_t row0 = threadIdx.x >> x.log_width, step = kRectangleThreads >> x.log_width;
  const int64_t start = row0 * x.n % x.m, advance = step * x.n % x.m;  // i * n modulo m
  for (int64_t strip = blockIdx.x; (strip << x.log_width) < x.n; strip += gridDim.x) {
    const int64_t j = (strip << x.log_width) + column;
    const bool exists = j < x.n;
    Item* data = reinterpret_cast<Item*>(x.data) + j;
    const int64_t turn = quotient<kLarge>(j, x.b, x.by_b), j_modulo = j % x.m;
    int64_t in = start;
    // Row i of column j comes from this row.
    auto source = [&](int64_t i) {
      if (kStep == Step::kRotate) return add_modulo(i, turn, x.m);
      if (kStep == Step::kUnrotate) return add_modulo(i, x.m - turn, x.m);
      const int64_t back = quotient<kLarge>(i, x.a, x.by_a), s = add_modulo(j_modulo, in, x.m);
      return s >= back ? s - back : s - back + x.m;
    };
    constexpr bool kScatter = kStep == Step::kUncolumns;
    if (exists)
      for (int64_t i = row0; i < x.m; i += step, in = add_modulo(in, advance, x.m))
        slice[((kScatter ? source(i) : i) << x.log_width) + column] = data[i * x.n];
    __syncthreads();
    in = start;
    if (exists)
      for (int64_t i = row0; i < x.m; i += step, in = add_modulo(in, advance, x.m))
        data[i * x.n] = slice[((kScatter ? i : source(i)) << x.log_width) + column];
    __syncthreads();
  }
}

template <int kElement, Step kStep, bool kLarge>
__global__ void __launch_bounds__(kRectangleThreads)
    permute_rows(const __grid_constant__ Rectangle x) {
  using Item = typename Unsigned<kElement>::Type;
  wait_for_kernel_before();
  Item* slice = slice_of<Item>(x);
  const int64_t start = threadIdx.x * x.m % x.n,
                advance = kRectangleThreads * x.m % x.n;  // j * m modulo n
  for (int64_t i = blockIdx.x; i < x.m; i += gridDim.x) {
    Item* row = reinterpret_cast<Item*>(x.data) + i * x.n;
    int64_t jm = start;
    auto target = [&](int64_t j) {
      return add_modulo(add_modulo(i, quotient<kLarge>(j, x.b, x.by_b), x.m), jm, x.n);
    };
    constexpr bool kScatter = kStep == Step::kRows;
    for (int64_t j = threadIdx.x; j < x.n;
         j += kRectangleThreads, jm = add_modulo(jm, advance, x.n))
      slice[kScatter ? target(j) : j] = row[j];
    __syncthreads();
    jm = start;
    for (int64_t j = threadIdx.x; j < x.n;
         j += kRectangleThreads, jm = add_modulo(jm, advance, x.n))
      row[j] = slice[kScatter ? j : target(j)];
    __syncthreads();
  }
}

int strip_width(int element_bytes) { return std::max(1, 64 / element_bytes); }

// Elements of workspace one CTA needs.
int64_t slice_elements(int64_t rows, int64_t cols, int element_bytes) {
  const int64_t m = std::min(rows, cols), n = std::max(rows, cols);
  return std::max(m * std::min<int64_t>(strip_width(element_bytes), n), n);
}

template <int kElement> Status square(void* data, int64_t ld, int64_t n, cudaStream_t stream) {
  constexpr int kTile = kSquareTile<kElement>;
  const int64_t tiles = (n + kTile - 1) / kTile, pairs = tiles * (tiles + 1) / 2;
  if (pairs > 2147483647)
    return {StatusCode::kUnsupported, "rows", "more than 2^31 - 1 pairs of tiles", 0};
  return launch(square_kernel<kElement>, dim3(unsigned(pairs)), kThreads, 0, stream,
                static_cast<char*>(data), ld * kElement, n);
}

// One pass. `bytes`: what a slice takes; it goes to shared memory when that has room.
template <class Kernel>
Status launch_pass(Kernel kernel, Rectangle x, int64_t bytes, int64_t pieces, int64_t slices,
                   int64_t shared_limit, cudaStream_t stream) {
  int shared = 0;
  int64_t ctas = std::min(slices, pieces);
  if (bytes <= shared_limit) {
    shared = int(bytes);
    x.workspace = nullptr;
    ctas = std::min<int64_t>(pieces, 2147483647);
    // All there is, in every call: what this one takes would cut short a call of another thread.
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_limit));
    if (error != cudaSuccess) return launch_failed(error);
  }
  return launch(kernel, dim3(unsigned(ctas)), kRectangleThreads, shared, stream, x);
}

int64_t shared_memory_limit() {
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
          cudaSuccess)
    return 48 * 1024;
  return bytes;
}

template <int kElement, bool kLarge>
Status rectangle(void* data, int64_t rows, int64_t cols, void* workspace, size_t workspace_bytes,
                 cudaStream_t stream) {
  Rectangle x{};
  x.data = static_cast<char*>(data);
  x.workspace = static_cast<char*>(workspace);
  x.m = std::min(rows, cols);
  x.n = std::max(rows, cols);
  const int64_t c = std::gcd(x.m, x.n);
  x.a = x.m / c;
  x.b = x.n / c;
  if constexpr (!kLarge) x.by_a = Divisor(uint32_t(x.a)), x.by_b = Divisor(uint32_t(x.b));
  x.slice = slice_elements(rows, cols, kElement);
  const int64_t limit = shared_memory_limit();
  // The widest strip, of 128 to 32 bytes, that shared memory has room for; else one of the
  // workspace.
  int width = 128 / kElement;
  while (width > 1 && width * kElement > 32 && x.m * width * kElement > limit) width /= 2;
  if (x.m * width * kElement > limit) width = strip_width(kElement);
  while (width > x.n) width /= 2;
  while (1 << x.log_width < width) ++x.log_width;
  const auto slices = int64_t(
      std::min<size_t>(workspace_bytes / size_t(x.slice * kElement), 2147483647));  // CTAs at most
  const int64_t strips = (x.n + width - 1) / width, strip_bytes = x.m * width * kElement;
  auto columns = [&](auto* kernel) {
    return launch_pass(kernel, x, strip_bytes, strips, slices, limit, stream);
  };
  auto all_rows = [&](auto* kernel) {
    return launch_pass(kernel, x, x.n * kElement, x.m, slices, limit, stream);
  };
  Status status;
  if (rows <= cols) {
    if (c > 1) status = columns(permute_columns<kElement, Step::kRotate, kLarge>);
    if (status.ok()) status = all_rows(permute_rows<kElement, Step::kRows, kLarge>);
    if (status.ok()) status = columns(permute_columns<kElement, Step::kColumns, kLarge>);
  } else {
    status = columns(permute_columns<kElement, Step::kUncolumns, kLarge>);
    if (status.ok()) status = all_rows(permute_rows<kElement, Step::kUnrows, kLarge>);
    if (status.ok() && c > 1) status = columns(permute_columns<kElement, Step::kUnrotate, kLarge>);
  }
  return status;
}

Status refuse(const char* argument, const char* message) {
  return {StatusCode::kInvalidArgument, argument, message, 0};
}

}  // namespace
}  // namespace tilewright::detail

namespace tilewright {

size_t transpose_in_place_workspace(int64_t rows, int64_t cols, int element_bytes) noexcept {
  const int e = element_bytes;
  if (rows <= 1 || cols <= 1 || rows == cols || (e != 1 && e != 2 && e != 4 && e != 8 && e != 16))
    return 0;
  int64_t elements = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) || elements > INT64_MAX / e) return 0;
  // As many slices as an eighth of the matrix has room for, at least one, at most two for each of
  // 132 SMs.
  const int64_t slice = detail::slice_elements(rows, cols, e);
  return size_t(slice * std::clamp<int64_t>(elements / 8 / slice, 1, 264) * e);
}

Status transpose_in_place(void* data, int64_t ld, int64_t rows, int64_t cols, int element_bytes,
                          void* workspace, size_t workspace_bytes, cudaStream_t stream) noexcept {
  using detail::refuse;
  const int e = element_bytes;
  if (e != 1 && e != 2 && e != 4 && e != 8 && e != 16)
    return refuse("element_bytes", "must be 1, 2, 4, 8 or 16");
  if (rows < 0) return refuse("rows", "is negative");
  if (cols < 0) return refuse("cols", "is negative");
  if (rows == 0 || cols == 0) return {};
  if (!data) return refuse("data", "is null");
  if (reinterpret_cast<uint64_t>(data) % uint64_t(e))
    return refuse("data", "is not a multiple of the element");
  if (ld < cols) return refuse("ld", "is less than cols");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, ld, &bytes) || bytes > INT64_MAX / e)
    return refuse("ld", "the matrix reaches beyond 2^63 bytes");
  if (rows != cols) {
    if (ld != cols) return refuse("ld", "a rectangular matrix must have no gaps: ld == cols");
    if (rows == 1 || cols == 1) return {};  // the bytes keep their order
    const int64_t least = detail::slice_elements(rows, cols, e) * e;
    if (!workspace) return refuse("workspace", "is null; a rectangular matrix needs one");
    if (reinterpret_cast<uint64_t>(workspace) % uint64_t(e))
      return refuse("workspace", "is not a multiple of the element");
    if (workspace_bytes < size_t(least))
      return {StatusCode::kWorkspaceTooSmall, "workspace_bytes",
              "is less than transpose_in_place_workspace asks for", 0};
  }
  auto run = [&](auto size) {
    constexpr int kElement = decltype(size)::value;
    return rows == cols ? detail::square<kElement>(data, ld, rows, stream)
           : std::max(rows, cols) < (int64_t(1) << 31)
               ? detail::rectangle<kElement, false>(data, rows, cols, workspace, workspace_bytes,
                                                    stream)
               : detail::rectangle<kElement, true>(data, rows, cols, workspace, workspace_bytes,
                                                   stream);
  };
  switch (e) {
    case 1: return run(std::integral_constant<int, 1>{});
    case 2: return run(std::integral_constant<int, 2>{});
    case 4: return run(std::integral_constant<int, 4>{});
    case 8: return run(std::integral_constant<int, 8>{});
    default: return run(std::integral_constant<int, 16>{});
  }
}

}  // namespace tilewright
